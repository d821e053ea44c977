// Task: count commits per author of acme/shop
// Want: {"mona":3,"hubot":2,"defunkt":1}
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
const counts = {};
for (const c of commits) {
  counts[c.author.login] = (counts[c.author.login] || 0) + 1;
}
return counts;
