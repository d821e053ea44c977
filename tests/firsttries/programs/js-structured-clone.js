// Task: raise every mrr by 10 % without changing the original
// Want: [1900,2090]
const { customers } = await tools.crm.list_customers({ limit: 10 });
const raised = structuredClone(customers).map((c) => ({ ...c, mrr: c.mrr * 1.1 }));
const sum = (xs) => Math.round(xs.reduce((s, c) => s + c.mrr, 0));
return [sum(customers), sum(raised)];
