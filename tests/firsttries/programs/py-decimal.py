# Task: exact sum of the EUR amounts
# Want: "1065.50"
from decimal import Decimal

eur = [Decimal(str(o["amount"])) for o in tools.crm.list_orders()["orders"] if o["currency"] == "EUR"]
str(sum(eur).quantize(Decimal("0.01")))
