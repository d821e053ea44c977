// Task: how many closed issues?
// Want: 2
export {};
const issues: Array<{ state: string }> = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "closed" });
console.log(issues.length);
return issues.length;
