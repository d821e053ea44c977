// Sentence: calling
// Task: post the number of open issues to #alerts
// Want: true
const issues = await tools.github.listIssues({ owner: "acme", repo: "shop", state: "open" });
const res = await tools.slack.postMessage({ channel: "#alerts", text: `${issues.length} open issues` });
return res.ok;
