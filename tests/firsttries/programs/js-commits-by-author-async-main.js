// Sentence: javascript
// Task: count commits per author of acme/shop
// Want: {"mona":3,"hubot":2,"defunkt":1}
async function main() {
  const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
  return commits.reduce((acc, { author }) => {
    acc[author.login] = (acc[author.login] ?? 0) + 1;
    return acc;
  }, {});
}

main();
