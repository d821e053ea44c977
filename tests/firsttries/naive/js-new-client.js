// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
const client = new Client({ name: "agent", version: "1.0.0" });
const issues = await client.callTool({ name: "list_issues", arguments: { owner: "acme", repo: "shop" } });
return issues.length;
