# Sentence: answers
# Task: how many open issues are there?
# Want: 3
from tools import github
response = github.list_issues(owner="acme", repo="shop")
len(response["result"])
