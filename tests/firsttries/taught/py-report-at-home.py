# Sentence: grants
# Task: write the orders as CSV and say how many there are
# Want: 7
import csv
from tools import crm

orders = crm.list_orders()["orders"]
with open("/tmp/orders.csv", "w", newline="") as f:
    writer = csv.DictWriter(f, fieldnames=orders[0].keys())
    writer.writeheader()
    writer.writerows(orders)
len(orders)
