// Sentence: javascript
// Task: how many commits fix something?
// Want: 2
export default async function () {
  const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
  return commits.filter((c) => c.message.startsWith("fix:")).length;
}
