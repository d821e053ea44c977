# Sentence: calling
# Task: how many open issues are there?
# Want: 3
from tools import github
len(github.list_issues("acme", "shop", "open"))
