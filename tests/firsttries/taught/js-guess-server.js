// Sentence: servers
// Task: how many customers are there?
// Want: 7
return (await tools.crm.list_customers({})).total;
