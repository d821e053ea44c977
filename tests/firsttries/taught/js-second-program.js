// Sentence: purpose
// Task: how many of the open issues are bugs? (the program before this one listed them)
// Want: 2
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop" });
return issues.filter((i) => i.labels.includes("bug")).length;
