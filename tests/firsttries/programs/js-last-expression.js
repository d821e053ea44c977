// Sentence: javascript
// Task: titles of issues labeled bug
// Want: ["Crash on start","Slow search","Login fails on Safari"]
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "all" });
issues.filter((i) => i.labels.includes("bug")).map((i) => i.title);
