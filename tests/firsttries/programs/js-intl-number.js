// Task: print the total paid amount with thousands separators
// Prints: 1,925.25
const { orders } = await tools.crm.list_orders({ status: "paid" });
const total = orders.reduce((s, o) => s + o.amount, 0);
console.log(total.toLocaleString("en-US", { minimumFractionDigits: 2 }));
