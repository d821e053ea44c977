# Task: mean and median of the amounts
# Want: [366.5,250]
from statistics import mean, median

amounts = [o["amount"] for o in tools.crm.list_orders()["orders"]]
[mean(amounts), median(amounts)]
