# The same job in Python: three servers in parallel, a small result.
import asyncio
import re
from collections import Counter, defaultdict

from tools.aio import github, jira, slack

commits, issues, chat = await asyncio.gather(
    github.list_commits(owner="acme", repo="shop", limit=1000),
    jira.search(jql='status="In Progress"', limit=1000),
    slack.history(channel="incidents", limit=1000),
)

authors = defaultdict(lambda: {"commits": 0, "added": 0, "removed": 0})
for c in commits:
    a = authors[c["author"]["login"]]
    a["commits"] += 1
    a["added"] += c["stats"]["additions"]
    a["removed"] += c["stats"]["deletions"]
busiest = sorted(authors.items(), key=lambda e: -e[1]["commits"])[:3]

urgent = [i["key"] for i in issues["issues"] if i["fields"]["priority"]["name"] == "Highest"]
talked_of = {key for m in chat for key in re.findall(r"SHOP-\d+", m["text"])}

return {
    "commits": len(commits),
    "busiest": [{"login": login, **a} for login, a in busiest],
    "in_progress": issues["total"],
    "urgent": len(urgent),
    "urgent_in_chat": [key for key in urgent if key in talked_of][:5],
}
