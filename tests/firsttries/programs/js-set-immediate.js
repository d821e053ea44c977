// Task: run a callback soon
// Want: "done"
const result = await new Promise((resolve) => setImmediate(() => resolve("done")));
return result;
