// Sentence: branches
// Task: fetch customers 1, 99 and 3; tell which one is missing
// Want: {"found":["Acme GmbH","Cyan SA"],"missing":[99]}
const ids = [1, 99, 3];
const results = await Promise.allSettled(ids.map((id) => tools.crm.get_customer({ id })));
return {
  found: results.filter((r) => r.status === "fulfilled").map((r) => r.value.name),
  missing: ids.filter((_, i) => results[i].status === "rejected"),
};
