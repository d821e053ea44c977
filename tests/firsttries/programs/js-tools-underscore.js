// Sentence: calling
// Task: how many open issues are there?
// Want: 3
const issues = await tools.github__list_issues({ owner: "acme", repo: "shop", state: "open" });
return issues.length;
