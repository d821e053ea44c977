# Task: print plans and mrr aligned
# Prints: enterprise |   1600
plans = {}
for c in tools.crm.list_customers(limit=100)["customers"]:
    plans[c["plan"]] = plans.get(c["plan"], 0) + c["mrr"]
for plan, mrr in sorted(plans.items(), key=lambda x: x[1], reverse=True):
    print(f"{plan:<10} | {mrr:>6}")
