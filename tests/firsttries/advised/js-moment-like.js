// Task: days between the first and the last commit
// Want: 8
// Advice: new Date(
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
const ms = new Date(commits.at(-1).date) - new Date(commits[0].date);
return Math.floor(ms / 86400000);
