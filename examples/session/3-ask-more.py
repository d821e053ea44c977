# The third program queries it again.
best = max(orders, key=lambda o: (o["total"], o["order"]))
{"orders": len(orders), "spent": dict(sorted(spent.items())), "best": best["total"]}
