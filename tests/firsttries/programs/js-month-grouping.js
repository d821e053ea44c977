// Task: paid amount by month
// Want: {"2026-01":349.5,"2026-02":1200,"2026-03":375.75}
const { orders } = await tools.crm.list_orders({});
const byMonth = new Map();
orders
  .filter(({ status }) => status === "paid")
  .forEach(({ date, amount }) => {
    const key = date.slice(0, 7);
    byMonth.set(key, (byMonth.get(key) || 0) + amount);
  });
return Object.fromEntries([...byMonth.entries()].sort());
