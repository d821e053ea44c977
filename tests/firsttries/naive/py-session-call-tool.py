# Sentence: python
# Task: how many open issues are there?
# Want: 3
result = await session.call_tool("list_issues", {"owner": "acme", "repo": "shop"})
len(result)
