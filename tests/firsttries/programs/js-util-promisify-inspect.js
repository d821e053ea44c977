// Task: print the first issue in full
// Prints: Crash on start
const util = require("util");
const [issue] = await tools.github.list_issues({ owner: "acme", repo: "shop" });
console.log(util.inspect(issue, { depth: null, colors: false }));
