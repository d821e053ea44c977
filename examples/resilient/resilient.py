# One branch fails, the others continue. settle waits for all branches and returns
# the outcome of each. attempt retries, then uses the fallback.
from tools.aio import github, jira, settle, slack

branches = await settle({
    "commits": github.list_commits(limit=5),
    "chat": slack.history(channel="nowhere"),  # this channel does not exist
})
issue = attempt(lambda: tools.jira.get_issue(key="SHOP-0"), retries=2, backoff=0.01, fallback={"key": "none"})

return {
    "commits": len(branches["commits"]["value"]),
    "chat": branches["chat"]["error"]["code"],
    "issue": issue["key"],
}
