# Task: mean and standard deviation of the amounts
# Want: [366.5,383.5]
# Advice: statistics
import statistics

amounts = [o["amount"] for o in tools.crm.list_orders()["orders"]]
[round(statistics.mean(amounts), 2), round(statistics.pstdev(amounts), 2)]
