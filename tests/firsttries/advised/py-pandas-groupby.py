# Task: paid amount per customer with pandas
# Want: {"1":349.5,"4":1500.0,"7":75.75}
# Advice: groups.setdefault(row['customer_id'], []).append(row['amount'])
# Advice: result = {key: sum(values) for key, values in groups.items()}
rows = tools.crm.list_orders(status="paid")["orders"]
groups = {}
for row in rows:
    groups.setdefault(row['customer_id'], []).append(row['amount'])
result = {key: sum(values) for key, values in groups.items()}
result
