# Task: stop early when nothing is to do
# Prints: nothing to do
import sys

issues = tools.github.list_issues(owner="acme", repo="shop", state="closed")
if not [i for i in issues if "wontfix" in i["labels"]]:
    print("nothing to do")
    sys.exit(0)
raise SystemExit("unreachable")
