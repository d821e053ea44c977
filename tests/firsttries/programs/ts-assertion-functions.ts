// Task: assert that every order has a date; count them
// Want: 7
function assertDefined<T>(x: T | undefined | null, what: string): asserts x is T {
  if (x == null) throw new TypeError(`${what} is missing`);
}
const { orders } = await tools.crm.list_orders({});
for (const o of orders) assertDefined(o.date, `date of ${o.id}`);
return orders.length;
