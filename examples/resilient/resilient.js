// One branch fails, the others continue. settle waits for all branches and returns
// the outcome of each. attempt retries, then uses the fallback.
const branches = await settle({
  commits: tools.github.list_commits({ limit: 5 }),
  chat: tools.slack.history({ channel: "nowhere" }), // this channel does not exist
  issue: attempt(() => tools.jira.get_issue({ key: "SHOP-0" }), { retries: 2, backoff: 10, fallback: { key: "none" } }),
});

return Object.fromEntries(
  Object.entries(branches).map(([name, b]) => [name, b.ok ? b.value.length ?? b.value.key : b.error.code]),
);
