// Task: names of customers 2 and 5
// Want: ["Bolt Ltd","Echo BV"]
const [a, b]: [any, any] = await Promise.all([tools.crm.get_customer({ id: 2 }), tools.crm.get_customer({ id: 5 })]);
return [a.name, b.name] as string[];
