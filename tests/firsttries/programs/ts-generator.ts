// Task: first three pages of size 2: names
// Want: [["Acme GmbH","Bolt Ltd"],["Cyan SA","Delta Inc"],["Echo BV","Foxtrot AG"]]
async function* pages(size: number): AsyncGenerator<string[], void, unknown> {
  let offset: number | null = 0;
  while (offset !== null) {
    const page: { customers: { name: string }[]; next_offset: number | null } = await tools.crm.list_customers({ limit: size, offset });
    yield page.customers.map((c) => c.name);
    offset = page.next_offset;
  }
}
const out: string[][] = [];
for await (const p of pages(2)) {
  if (out.length === 3) break;
  out.push(p);
}
return out;
