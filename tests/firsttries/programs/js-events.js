// Task: emit an event per open issue and collect them
// Want: [1,3,4]
const EventEmitter = require("events");
const bus = new EventEmitter();
const seen = [];
bus.on("issue", (i) => seen.push(i.number));
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop" });
issues.forEach((i) => bus.emit("issue", i));
return seen;
