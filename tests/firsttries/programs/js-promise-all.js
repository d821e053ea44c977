// Task: fetch customers 1, 4 and 6 and return their countries
// Want: ["DE","US","DE"]
const ids = [1, 4, 6];
const customers = await Promise.all(ids.map((id) => tools.crm.get_customer({ id })));
return customers.map((c) => c.country);
