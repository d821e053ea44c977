# Sentence: python
# Task: how many open issues are there?
# Want: 3
issues = tools.github.list_issues(owner="acme", repo="shop")
if issues:
    len(issues)
else:
    0
