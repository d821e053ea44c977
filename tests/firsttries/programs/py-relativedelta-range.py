# Task: the first days of the next three months after 15 January 2026
# Want: ["2026-02-01","2026-03-01","2026-04-01"]
from datetime import datetime
from dateutil.relativedelta import relativedelta

start = datetime(2026, 1, 15)
[(start + relativedelta(months=i, day=1)).strftime("%Y-%m-%d") for i in range(1, 4)]
