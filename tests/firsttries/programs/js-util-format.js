// Task: print a formatted line
// Prints: mona made 3 commits (50%)
const { format } = require("node:util");
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
const n = commits.filter((c) => c.author.login === "mona").length;
console.log(format("%s made %d commits (%d%%)", "mona", n, (100 * n) / commits.length));
