# Task: number of orders
# Want: true
from collections import defaultdict
from datetime import datetime

response = tools.crm.list_orders()
orders = response.get("orders", []) if isinstance(response, dict) else response

monthly = defaultdict(lambda: {"count": 0, "total": 0.0})
for order in orders:
    month = datetime.fromisoformat(order["date"].replace("Z", "+00:00")).strftime("%Y-%m")
    monthly[month]["count"] += 1
    monthly[month]["total"] += order["amount"]

sum(m["count"] for m in monthly.values()) == len(orders)
