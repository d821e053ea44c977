// Task: sum of comments on all issues
// Want: 27
import { list_issues } from "./servers/github";

const issues = await list_issues({ owner: "acme", repo: "shop", state: "all" });
return issues.reduce((sum: number, issue: { comments: number }) => sum + issue.comments, 0);
