// Task: show the order of ticks and microtasks
// Want: ["sync","tick","micro","timeout"]
const order = [];
setTimeout(() => order.push("timeout"), 0);
Promise.resolve().then(() => order.push("micro"));
process.nextTick(() => order.push("tick"));
order.push("sync");
await new Promise((r) => setTimeout(r, 10));
return order;
