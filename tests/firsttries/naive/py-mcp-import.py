# Sentence: python
# Task: how many open issues are there?
# Want: 3
import mcp

issues = mcp.call("github", "list_issues", owner="acme", repo="shop")
len(issues)
