# Sentence: calling
# Task: how many closed issues?
# Want: 2
from tools.github import list_issues

closed = list_issues(owner="acme", repo="shop", state="closed")
len(closed)
