# Sentence: calling
# Task: how many closed issues?
# Want: 2
closed = call_tool("github.list_issues", {"owner": "acme", "repo": "shop", "state": "closed"})
len(closed)
