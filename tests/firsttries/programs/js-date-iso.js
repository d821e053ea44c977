// Task: days between the first and the last commit
// Want: 8
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
const times = commits.map((c) => Date.parse(c.date));
const days = (Math.max(...times) - Math.min(...times)) / 86_400_000;
return Math.floor(days);
