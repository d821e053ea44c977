# Task: a line per issue with labels
# Want: ["#1 [bug, p1]","#3 [docs]","#4 [bug, performance]"]
issues = tools.github.list_issues(owner="acme", repo="shop")
[f"#{i['number']} [{", ".join(i["labels"])}]" for i in issues]
