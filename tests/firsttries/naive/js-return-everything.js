// Sentence: purpose
// Task: how many purchases are there in the events?
// Want: 250
const { events } = await tools.crm.list_events({});
return events;
