// Task: a custom error for a missing customer
// Want: {"name":"NotFoundError","id":77}
class NotFoundError extends Error {
  constructor(public readonly id: number, options?: ErrorOptions) {
    super(`customer ${id} not found`, options);
    this.name = "NotFoundError";
  }
}
async function load(id: number) {
  try {
    return await tools.crm.get_customer({ id });
  } catch (cause) {
    throw new NotFoundError(id, { cause });
  }
}
try {
  return await load(77);
} catch (e) {
  if (e instanceof NotFoundError) return { name: e.name, id: e.id };
  throw e;
}
