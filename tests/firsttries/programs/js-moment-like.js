// Sentence: grants
// Task: days between the first and the last commit
// Want: 8
const moment = require("moment");
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
return moment(commits.at(-1).date).diff(moment(commits[0].date), "days");
