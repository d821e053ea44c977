# Sentence: python
# Task: how many open issues are there?
# Want: 3
issues = list_issues(owner="acme", repo="shop")
len(issues)
