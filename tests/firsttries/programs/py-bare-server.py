# Sentence: calling
# Task: how many closed issues?
# Want: 2
closed = github.list_issues(owner="acme", repo="shop", state="closed")
len(closed)
