// Task: list the names of all customers (the tool pages)
// Want: ["Acme GmbH","Bolt Ltd","Cyan SA","Delta Inc","Echo BV","Foxtrot AG","Golf SRL"]
const all = [];
let offset = 0;
while (true) {
  const page = await tools.crm.list_customers({ offset });
  all.push(...page.customers);
  if (page.next_offset == null) break;
  offset = page.next_offset;
}
return all.map((c) => c.name);
