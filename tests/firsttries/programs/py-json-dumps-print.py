# Sentence: python
# Task: print the open issues as JSON
# Prints: "number": 3
import json

issues = tools.github.list_issues(owner="acme", repo="shop", state="open")
print(json.dumps([{"number": i["number"], "title": i["title"]} for i in issues], indent=2))
