// Sentence: servers
// Task: how many customers are there?
// Want: 7
const contacts = await tools.hubspot.list_contacts({ limit: 100 });
return contacts.total;
