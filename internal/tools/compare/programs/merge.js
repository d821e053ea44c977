const customers = await tools.crm.list_customers({ limit: 500 });
const sent = await mapLimit(customers, 16, (c) => tools.mail.send({
  to: c.email,
  subject: `News for our customers in ${c.city}`,
  body: `Dear ${c.name},\n\nthank you for your trust. Since the first of the month our shop in ${c.city} is open on Saturdays, too. `
    + `As a ${c.segment} customer you get ten per cent off until the end of July.\n\nYours, the Acme shop`,
}));
return { sent: sent.filter((s) => s.sent).length };
