// Sets unassigned urgent issues to "In Progress" and posts to a channel.
const { issues } = await jira.search({ jql: "priority=Highest" });
const idle = issues.filter((i) => !i.assignee);
for (const i of idle) await jira.update_issue({ key: i.key, status: "In Progress" });
if (idle.length > 0) await slack.post_message({ channel: args.channel, text: `now in progress: ${idle.map((i) => i.key).join(", ")}` });
return idle.length;
