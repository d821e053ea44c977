// Task: how many open issues are there?
// Want: 3
import * as github from "./servers/github";

const issues = await github.list_issues({ owner: "acme", repo: "shop", state: "open" });
console.log(`There are ${issues.length} open issues`);
return issues.length;
