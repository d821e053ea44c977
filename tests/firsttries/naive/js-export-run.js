// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
export async function run({ tools }) {
  const issues = await tools.github.list_issues({ owner: "acme", repo: "shop" });
  return issues.length;
}
