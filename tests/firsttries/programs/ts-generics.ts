// Task: group customers by plan with a generic helper
// Want: {"pro":3,"free":2,"enterprise":2}
function groupBy<T, K extends string>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const out = new Map<K, T[]>();
  for (const item of items) {
    const k = key(item);
    const list = out.get(k);
    if (list) list.push(item);
    else out.set(k, [item]);
  }
  return out;
}

type Customer = { plan: string };
const { customers } = await tools.crm.list_customers({ limit: 100 });
const groups = groupBy<Customer, string>(customers, (c) => c.plan);
return Object.fromEntries([...groups].map(([k, v]) => [k, v.length]));
