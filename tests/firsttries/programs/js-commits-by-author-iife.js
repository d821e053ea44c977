// Sentence: javascript
// Task: count commits per author of acme/shop
// Want: {"mona":3,"hubot":2,"defunkt":1}
(async () => {
  const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
  const byAuthor = Object.groupBy(commits, (c) => c.author.login);
  return Object.fromEntries(Object.entries(byAuthor).map(([k, v]) => [k, v.length]));
})();
