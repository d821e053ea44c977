// Writes to every gold customer of a city. The program joins and counts; it
// never sees a name or an address, only tokens like [EMAIL_1]. mail.send gets
// the real ones, because the policy reveals them there and nowhere else.
const customers = await tools.crm.list_customers({ segment: "gold", limit: 500 });
const chosen = customers.filter((c) => c.city === args.city);

const answers = await mapLimit(chosen, 4, (c) =>
  tools.mail.send({
    to: c.email,
    subject: "Thank you",
    body: `Dear ${c.name},\n\nyou have spent ${c.spent} with us this year. The next parcel is on the house.\n`,
  }),
);

const domains = {};
for (const c of chosen) {
  const domain = await pii.domain(c.email); // without the address
  domains[domain] = (domains[domain] ?? 0) + 1;
}
return { sent: answers.filter((a) => a.sent).length, looks_like: chosen[0].email, domains };
