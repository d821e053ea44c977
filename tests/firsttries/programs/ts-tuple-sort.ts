// Task: countries by mrr, highest first, without zeros
// Want: [["US",900],["DE",820],["IT",100],["FR",80]]
const { customers } = await tools.crm.list_customers({ limit: 100 });
const sums = new Map<string, number>();
for (const c of customers as { country: string; mrr: number }[]) sums.set(c.country, (sums.get(c.country) ?? 0) + c.mrr);
const sorted: [string, number][] = [...sums.entries()].filter(([, n]) => n > 0).sort(([, x], [, y]) => y - x);
return sorted;
