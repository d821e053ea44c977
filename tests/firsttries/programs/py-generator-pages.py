# Task: total mrr over all customers (the tool pages)
# Want: 1900
def customers(limit=2):
    offset = 0
    while True:
        page = tools.crm.list_customers(limit=limit, offset=offset)
        yield from page["customers"]
        if page["next_offset"] is None:
            return
        offset = page["next_offset"]


sum(c["mrr"] for c in customers())
