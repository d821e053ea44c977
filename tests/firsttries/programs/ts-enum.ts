// Task: orders by status, using an enum
// Want: {"paid":5,"pending":1,"refunded":1}
enum Status {
  Paid = "paid",
  Pending = "pending",
  Refunded = "refunded",
}

const { orders } = await tools.crm.list_orders({});
const counts = {} as Record<Status, number>;
for (const s of Object.values(Status)) counts[s] = orders.filter((o: { status: string }) => o.status === s).length;
return counts;
