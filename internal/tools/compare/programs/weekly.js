const commits = await tools.github.list_commits({ owner: "acme", repo: "shop", limit: 1000 });
const weeks = {};
for (const c of commits) {
  const day = new Date(c.commit.author.date);
  day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  const week = (weeks[day.toISOString().slice(0, 10)] ??= {});
  week[c.author.login] = (week[c.author.login] ?? 0) + 1;
}
return weeks;
