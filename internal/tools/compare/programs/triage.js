const { issues } = await tools.jira.search({ limit: 1000 });
const count = {};
for (const { fields: f } of issues) {
  const row = (count[f.status.name] ??= {});
  row[f.priority.name] = (row[f.priority.name] ?? 0) + 1;
}
const body = JSON.stringify(count);
const { number } = await tools.github.create_issue({ title: "Triage of the week", body });
const { ok } = await tools.slack.post_message({ channel: "general", text: `Triage of the week is #${number}: ${body}` });
return { number, ok, count };
