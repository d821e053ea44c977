// Sentence: error fields
// Task: wrap an error with context and show both messages
// Want: ["cannot load customer","customer 99 does not exist"]
try {
  try {
    await tools.crm.get_customer({ id: 99 });
  } catch (cause) {
    throw new Error("cannot load customer", { cause });
  }
} catch (e) {
  return [e.message, e.cause.message.match(/customer 99 does not exist/)[0]];
}
