# Task: days between the first and the last commit
# Want: 8
from dateutil import parser

dates = sorted(parser.parse(c["date"]) for c in tools.github.list_commits(owner="acme", repo="shop"))
(dates[-1].date() - dates[0].date()).days
