// Sentence: personal
// Task: how many customers of the first page have an e-mail address?
// Want: 3
const { customers } = await tools.crm.list_customers({});
return customers.filter((c) => /^[^@\s]+@[^@\s]+\.[a-z]+$/i.test(c.email)).length;
