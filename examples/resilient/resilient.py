# One branch fails and the others do not care: settle waits for all of them and
# says of each how it went; attempt tries again and then falls back.
from tools.aio import github, jira, settle, slack

branches = await settle({
    "commits": github.list_commits(limit=5),
    "chat": slack.history(channel="nowhere"),  # there is no such channel
})
issue = attempt(lambda: tools.jira.get_issue(key="SHOP-0"), retries=2, backoff=0.01, fallback={"key": "none"})

return {
    "commits": len(branches["commits"]["value"]),
    "chat": branches["chat"]["error"]["code"],
    "issue": issue["key"],
}
