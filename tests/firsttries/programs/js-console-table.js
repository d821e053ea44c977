// Task: print a table of plans and their mrr
// Prints: enterprise
const { customers } = await tools.crm.list_customers({ limit: 50 });
const plans = {};
for (const { plan, mrr } of customers) plans[plan] = (plans[plan] ?? 0) + mrr;
console.table(Object.entries(plans).map(([plan, mrr]) => ({ plan, mrr })));
