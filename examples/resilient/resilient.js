// One branch fails and the others do not care: settle waits for all of them and
// says of each how it went; attempt tries again and then falls back.
const branches = await settle({
  commits: tools.github.list_commits({ limit: 5 }),
  chat: tools.slack.history({ channel: "nowhere" }), // there is no such channel
  issue: attempt(() => tools.jira.get_issue({ key: "SHOP-0" }), { retries: 2, backoff: 10, fallback: { key: "none" } }),
});

return Object.fromEntries(
  Object.entries(branches).map(([name, b]) => [name, b.ok ? b.value.length ?? b.value.key : b.error.code]),
);
