// Summarizes the recent work of one person. Calls three servers in parallel and
// returns a few lines.
interface Commit { author: { login: string }; commit: { message: string; author: { date: string } }; stats: { total: number } }
interface Issue { key: string; fields: { summary: string; assignee: { accountId: string } } }
interface Message { user: string; text: string }

const who: string = args.who;
const [commits, issues, chat]: [Commit[], { issues: Issue[] }, Message[]] = await Promise.all([
  tools.github.list_commits({ author: who, limit: 1000 }),
  tools.jira.search({ jql: 'status="In Progress"', limit: 1000 }),
  tools.slack.history({ channel: "general", limit: 1000 }),
]);

const mine = issues.issues.filter((i) => i.fields.assignee.accountId === who);
return {
  who,
  commits: commits.length,
  lines: commits.reduce((sum, c) => sum + c.stats.total, 0),
  latest: commits.slice(0, 3).map((c) => c.commit.message.split("\n")[0]),
  working_on: mine.slice(0, 3).map((i) => `${i.key} ${i.fields.summary}`),
  messages: chat.filter((m) => m.user === who).length,
};
