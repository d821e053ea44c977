# Task: local time in New York of the first commit
# Want: "05:15"
from datetime import datetime
from zoneinfo import ZoneInfo

first = tools.github.list_commits(owner="acme", repo="shop")[0]
datetime.fromisoformat(first["date"]).astimezone(ZoneInfo("America/New_York")).strftime("%H:%M")
