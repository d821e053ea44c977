# Task: paid amount by month name
# Want: {"January":349.5,"February":1200.0,"March":375.75}
from datetime import date
from itertools import groupby

orders = sorted(tools.crm.list_orders(status="paid")["orders"], key=lambda o: o["date"])
{
    month: float(sum(o["amount"] for o in group))
    for month, group in groupby(orders, key=lambda o: date.fromisoformat(o["date"]).strftime("%B"))
}
