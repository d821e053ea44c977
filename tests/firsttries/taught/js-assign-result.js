// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop" });
return issues.length;
