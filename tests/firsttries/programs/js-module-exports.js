// Sentence: javascript
// Task: the sum of all customers' mrr
// Want: 1900
const run = async () => {
  const { customers } = await tools.crm.list_customers({ limit: 100 });
  return customers.reduce((sum, c) => sum + c.mrr, 0);
};

module.exports = run();
