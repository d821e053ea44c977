# Sentence: calling
# Task: how many closed issues?
# Want: 2
closed = mcp__github__list_issues(owner="acme", repo="shop", state="closed")
len(closed)
