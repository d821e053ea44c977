// Sends mail after a person approves. The program continues with
// other work meanwhile. The call returns its value or raises a
// PolicyError, which the program can catch.
const [first] = await tools.crm.list_customers({ limit: 1 });
const mail = tools.mail.send({ to: first.email, subject: "Your parcel", body: "It is on its way." });
const others = await tools.crm.list_customers({ limit: 500 }); // runs while the question is open

try {
  const { sent } = await mail;
  return { sent, others: others.length };
} catch (e) {
  if (!(e instanceof PolicyError)) throw e;
  return { sent: false, why: e.code, others: others.length };
}
