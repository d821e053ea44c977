// A week's work in a few lines: 1,000 commits, the issues in progress and the
// talk in a channel, from three servers at once. What goes back is small.
const [commits, issues, chat] = await Promise.all([
  tools.github.list_commits({ owner: "acme", repo: "shop", limit: 1000 }),
  tools.jira.search({ jql: 'status="In Progress"', limit: 1000 }),
  tools.slack.history({ channel: "incidents", limit: 1000 }),
]);

const authors = {};
for (const c of commits) {
  const a = (authors[c.author.login] ??= { commits: 0, added: 0, removed: 0 });
  a.commits++;
  a.added += c.stats.additions;
  a.removed += c.stats.deletions;
}
const busiest = Object.entries(authors)
  .sort(([, a], [, b]) => b.commits - a.commits)
  .slice(0, 3)
  .map(([login, a]) => ({ login, ...a }));

const urgent = issues.issues.filter((i) => i.fields.priority.name === "Highest").map((i) => i.key);
const talkedOf = new Set(chat.flatMap((m) => m.text.match(/SHOP-\d+/g) ?? []));

return {
  commits: commits.length,
  busiest,
  in_progress: issues.total,
  urgent: urgent.length,
  urgent_in_chat: urgent.filter((key) => talkedOf.has(key)).slice(0, 5),
};
