# Task: the name of customer 2, with retries
# Want: true
import functools
import random
import time

def retry(times=3, delay=0.01):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return fn(*args, **kwargs)
                except Exception as exc:
                    if attempt == times:
                        raise
                    time.sleep(delay * 2 ** attempt + random.uniform(0, delay))
        return wrapper
    return decorate

@retry(times=2)
def customer_name(customer_id: int) -> str:
    return tools.crm.get_customer(id=customer_id)["name"]

isinstance(customer_name(2), str)
