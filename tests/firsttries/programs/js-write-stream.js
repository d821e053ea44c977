// Task: write one line for each customer into a file and count them
// Want: 7
const fs = require("fs");
const { customers } = await tools.crm.list_customers({ limit: 100 });
const out = fs.createWriteStream("/tmp/customers.txt");
for (const c of customers) out.write(`${c.id}\t${c.name}\n`);
await new Promise((resolve, reject) => { out.end(resolve); out.on("error", reject); });
return fs.readFileSync("/tmp/customers.txt", "utf8").split("\n").filter(Boolean).length;
