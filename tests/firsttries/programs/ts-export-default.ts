// Sentence: javascript
// Task: mean mrr of paying customers
// Want: 380
interface Customer { id: number; name: string; mrr: number }

export default async function run(): Promise<number> {
  const { customers } = await tools.crm.list_customers({ limit: 100 }) as { customers: Customer[] };
  const paying = customers.filter(c => c.mrr > 0);
  return paying.reduce((s, c) => s + c.mrr, 0) / paying.length;
}
