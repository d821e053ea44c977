// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
export default async function handler(ctx) {
  const issues = await ctx.tools.github.list_issues({ owner: "acme", repo: "shop" });
  return issues.length;
}
