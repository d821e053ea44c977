# Task: add up order amounts in worker threads
# Want: 2565.5
import threading
from queue import Queue

q = Queue()
total = 0
lock = threading.Lock()

def worker():
    global total
    while True:
        item = q.get()
        if item is None:
            break
        with lock:
            total += item["amount"]
        q.task_done()

for o in tools.crm.list_orders()["orders"]:
    q.put(o)
q.put(None)
t = threading.Thread(target=worker)
t.start()
t.join()
total
