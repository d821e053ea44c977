# Task: classify orders by amount
# Want: {"small":3,"medium":3,"large":1}
def size(order):
    match order["amount"]:
        case a if a < 100:
            return "small"
        case a if a < 1000:
            return "medium"
        case _:
            return "large"


out = {}
for o in tools.crm.list_orders()["orders"]:
    if (s := size(o)):
        out[s] = out.get(s, 0) + 1
out
