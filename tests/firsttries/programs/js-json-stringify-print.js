// Sentence: javascript
// Task: print the open issues as JSON
// Prints: "number": 3
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "open" });
console.log(JSON.stringify(issues.map(({ number, title }) => ({ number, title })), null, 2));
