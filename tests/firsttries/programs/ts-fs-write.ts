// Task: write a CSV of customers to /tmp/customers.csv and count its lines
// Want: 8
import * as fs from "fs";

const { customers } = await tools.crm.list_customers({ limit: 100 });
const rows: string[] = ["id,name,mrr", ...customers.map((c: any) => [c.id, c.name, c.mrr].join(","))];
fs.writeFileSync("/tmp/customers.csv", rows.join("\n"));
const lines: number = fs.readFileSync("/tmp/customers.csv", { encoding: "utf8" }).split("\n").length;
export default lines;
