# Sentence: overlap
# Task: how many open issues are there?
# Want: 3
issues = await tools.github.list_issues(owner="acme", repo="shop", state="open")
len(issues)
