# Sentence: overlap
# Task: countries of customers 1 to 4, fetched in parallel
# Want: ["DE","UK","FR","US"]
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(max_workers=4) as pool:
    customers = list(pool.map(lambda i: tools.crm.get_customer(id=i), range(1, 5)))
[c["country"] for c in customers]
