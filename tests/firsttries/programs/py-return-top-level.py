# Sentence: python
# Task: number of paid orders
# Want: 5
orders = tools.crm.list_orders(status="paid")["orders"]
return len(orders)
