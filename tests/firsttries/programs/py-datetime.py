# Task: days between the first and the last commit
# Want: 8
from datetime import datetime

dates = [datetime.fromisoformat(c["date"].replace("Z", "+00:00")) for c in tools.github.list_commits(owner="acme", repo="shop")]
(max(dates) - min(dates)).days
