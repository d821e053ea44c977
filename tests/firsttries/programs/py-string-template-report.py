# Task: a report of the open issues as Markdown
# Prints: | 1 | Crash on start | bug, p1 |
from string import Template

row = Template("| $number | $title | $labels |")
issues = tools.github.list_issues(owner="acme", repo="shop", state="open")
lines = ["| # | title | labels |", "|---|---|---|"]
lines += [row.substitute(number=i["number"], title=i["title"], labels=", ".join(i["labels"])) for i in sorted(issues, key=lambda i: i["number"])]
print("\n".join(lines))
