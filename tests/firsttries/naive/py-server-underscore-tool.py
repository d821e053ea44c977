# Sentence: python
# Task: how many open issues are there?
# Want: 3
issues = github_list_issues(owner="acme", repo="shop")
len(issues)
