# Sentence: python
# Task: how many open issues are there?
# Want: 3
from tools import github
len(github.list_issues(owner="acme", repo="shop"))
