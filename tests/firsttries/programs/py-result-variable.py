# Sentence: python
# Task: print and leave the number of paid orders
# Prints: 5
orders = tools.crm.list_orders(status="paid")["orders"]
result = len(orders)
print(result)
