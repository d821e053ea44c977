const [orders, customers] = await Promise.all([
  tools.logs.rows({ table: "orders", limit: 10000 }),
  tools.logs.rows({ table: "customers" }),
]);
const byID = new Map(customers.map((c) => [c.id, c]));
const revenue = {};
for (const o of orders) {
  const { segment, city } = byID.get(o.customer);
  const row = (revenue[city] ??= {});
  row[segment] = (row[segment] ?? 0) + o.total;
}
return revenue;
