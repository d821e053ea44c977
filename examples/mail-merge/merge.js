// Writes to every gold customer of a city. The program joins and counts. It
// sees tokens such as [EMAIL_1] instead of names and addresses. mail.send gets
// the values, because the policy lists it in reveal_to.
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
  const domain = await pii.domain(c.email); // the domain of a token
  domains[domain] = (domains[domain] ?? 0) + 1;
}
return { sent: answers.filter((a) => a.sent).length, looks_like: chosen[0].email, domains };
