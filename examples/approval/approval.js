// Mail may leave only after a person has said yes. The program goes on with
// other work meanwhile, and hears the answer as the value of the call, or as a
// PolicyError that it may catch.
const [first] = await tools.crm.list_customers({ limit: 1 });
const mail = tools.mail.send({ to: first.email, subject: "Your parcel", body: "It is on its way." });
const others = await tools.crm.list_customers({ limit: 500 }); // does not wait for the person

try {
  const { sent } = await mail;
  return { sent, others: others.length };
} catch (e) {
  if (!(e instanceof PolicyError)) throw e;
  return { sent: false, why: e.code, others: others.length };
}
