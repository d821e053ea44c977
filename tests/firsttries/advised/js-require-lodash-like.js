// Task: group orders by status and count
// Want: {"paid":5,"refunded":1,"pending":1}
// Advice: Object.groupBy
const { orders } = await tools.crm.list_orders({});
const groups = Object.groupBy(orders, (order) => order.status);
return Object.fromEntries(Object.entries(groups).map(([status, list]) => [status, list.length]));
