// Task: the distinct plans
// Want: ["pro","free","enterprise"]
const { customers } = await tools.crm.list_customers({ limit: 100 });
return new Set(customers.map((c) => c.plan));
