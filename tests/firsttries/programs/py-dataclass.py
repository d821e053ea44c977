# Task: a report per country as dataclasses
# Want: [{"country":"US","mrr":900},{"country":"DE","mrr":820}]
from dataclasses import dataclass, asdict


@dataclass(order=True)
class Row:
    mrr: int
    country: str


totals: dict[str, int] = {}
for c in tools.crm.list_customers(limit=100)["customers"]:
    totals[c["country"]] = totals.get(c["country"], 0) + c["mrr"]
rows = sorted((Row(v, k) for k, v in totals.items()), reverse=True)[:2]
[asdict(r) for r in rows]
