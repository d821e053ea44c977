# Summarizes the recent work of one person. Calls three servers in parallel and
# returns a few lines.
import asyncio
from tools.aio import github, jira, slack

who = args["who"]
commits, issues, chat = await asyncio.gather(
    github.list_commits(author=who, limit=1000),
    jira.search(jql='status="In Progress"', limit=1000),
    slack.history(channel="general", limit=1000),
)

mine = [i for i in issues["issues"] if i["fields"]["assignee"]["accountId"] == who]
return {
    "who": who,
    "commits": len(commits),
    "lines": sum(c["stats"]["total"] for c in commits),
    "latest": [c["commit"]["message"].splitlines()[0] for c in commits[:3]],
    "working_on": [f'{i["key"]} {i["fields"]["summary"]}' for i in mine[:3]],
    "messages": sum(m["user"] == who for m in chat),
}
