// Task: store the open issues in /tmp/issues.json and say how many there are
// Want: 3
const fs = require("node:fs/promises");
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "open" });
await fs.writeFile("/tmp/issues.json", JSON.stringify(issues, null, 2));
const back = JSON.parse(await fs.readFile("/tmp/issues.json", "utf-8"));
return back.length;
