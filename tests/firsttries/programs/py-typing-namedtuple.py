# Task: largest order with id and amount
# Want: {"id":"o4","amount":1200}
from typing import NamedTuple

class Order(NamedTuple):
    id: str
    amount: float

orders = [Order(o["id"], o["amount"]) for o in tools.crm.list_orders()["orders"]]
max(orders, key=lambda o: o.amount)
