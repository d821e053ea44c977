// Task: how many open issues are there?
// Want: 3
import { listIssues } from "./servers/github/index.js";
const issues = await listIssues({ owner: "acme", repo: "shop", state: "open" });
return issues.length;
