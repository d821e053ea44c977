// Task: number of customers by country
// Want: {"DE":2,"UK":1,"FR":1,"US":1,"NL":1,"IT":1}
const { customers } = await tools.crm.list_customers({ limit: 100 });
const byCountry = new Map();
for (const c of customers) byCountry.set(c.country, (byCountry.get(c.country) ?? 0) + 1);
return byCountry;
