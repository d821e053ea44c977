# Task: the two most discussed issues
# Want: ["Add dark mode","Slow search"]
import heapq
from operator import itemgetter

issues = tools.github.list_issues(owner="acme", repo="shop", state="all")
[i["title"] for i in heapq.nlargest(2, issues, key=itemgetter("comments"))]
