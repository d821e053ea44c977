// Sentence: grants
// Task: group orders by status and count
// Want: {"paid":5,"refunded":1,"pending":1}
const _ = require("lodash");
const { orders } = await tools.crm.list_orders({});
return _.countBy(orders, "status");
