# Task: the month after 31 January 2026
# Want: "2026-02-28"
from datetime import date
from dateutil.relativedelta import relativedelta

(date(2026, 1, 31) + relativedelta(months=1)).isoformat()
