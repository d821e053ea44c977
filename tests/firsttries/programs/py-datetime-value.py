# Task: when was the last commit?
# Want: "2026-03-10T14:05:00Z"
from datetime import datetime

max(datetime.fromisoformat(c["date"]) for c in tools.github.list_commits(owner="acme", repo="shop"))
