// Sentence: answers
// Task: the number of customers
// Want: 7
const result = await tools.crm.list_customers({ limit: 1 });
const { total } = result.structuredContent ?? result;
return total;
