# Task: look customer 4 up twice with a cache
# Want: ["Delta Inc","Delta Inc",1]
from functools import lru_cache

@lru_cache(maxsize=None)
def customer(i):
    return tools.crm.get_customer(id=i)

names = [customer(4)["name"], customer(4)["name"]]
names + [customer.cache_info().misses]
