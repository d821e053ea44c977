// Task: print the total paid in EUR as money
// Prints: €425.25
const { orders } = await tools.crm.list_orders({ status: "paid" });
const eur = orders.filter((o) => o.currency === "EUR").reduce((s, o) => s + o.amount, 0);
console.log(new Intl.NumberFormat("en-US", { style: "currency", currency: "EUR" }).format(eur));
