// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
tools.github.list_issues({ owner: "acme", repo: "shop" }).then((issues) => issues.length);
