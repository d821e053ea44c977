# Task: names of customers 1 and 2, each in a thread
# Want: {"1":"Acme GmbH","2":"Bolt Ltd"}
import threading

names = {}

def load(i):
    names[str(i)] = tools.crm.get_customer(id=i)["name"]

threads = [threading.Thread(target=load, args=(i,)) for i in (1, 2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
names
