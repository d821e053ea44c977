// Task: total mrr over all customers (the tool pages)
// Want: 1900
async function* customers() {
  for (let offset = 0; offset != null; ) {
    const { customers, next_offset } = await tools.crm.list_customers({ offset, limit: 2 });
    yield* customers;
    offset = next_offset;
  }
}

let total = 0;
for await (const c of customers()) total += c.mrr;
console.log({ total });
return total;
