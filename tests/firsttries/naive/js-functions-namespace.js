// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
const issues = await functions.github_list_issues({ owner: "acme", repo: "shop" });
return issues.length;
