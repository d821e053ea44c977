// Task: names of enterprise customers
// Want: ["Delta Inc","Foxtrot AG"]
async function main() {
  const { customers } = await tools.crm.list_customers({ limit: 100 });
  return customers.filter((c) => c.plan === "enterprise").map((c) => c.name);
}

if (require.main === module) {
  main().then((names) => console.log(JSON.stringify(names))).catch((err) => { console.error(err); process.exit(1); });
}
module.exports = main();
