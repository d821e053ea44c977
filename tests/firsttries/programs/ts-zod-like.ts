// Task: validate the customers by hand and count the valid ones
// Want: 7
function isCustomer(x: unknown): x is { id: number; email: string } {
  return typeof x === "object" && x !== null && "id" in x && typeof (x as any).email === "string" && (x as any).email.includes("@");
}
const page: { customers: unknown[] } = await tools.crm.list_customers({ limit: 50 });
return page.customers.filter(isCustomer).length;
