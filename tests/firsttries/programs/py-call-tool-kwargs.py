# Sentence: calling
# Task: how many closed issues?
# Want: 2
closed = await call_tool("github__list_issues", owner="acme", repo="shop", state="closed")
len(closed)
