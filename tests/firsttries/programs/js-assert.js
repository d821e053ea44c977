// Task: check that all paid orders have a positive amount
// Want: "ok"
const assert = require("assert");
const { orders } = await tools.crm.list_orders({ status: "paid" });
for (const o of orders) assert(o.amount > 0, `order ${o.id} has no amount`);
assert.strictEqual(orders.length, 5);
return "ok";
