# Task: customers in Germany as typed records
# Prints: DE
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

@dataclass(frozen=True, slots=True)
class Customer:
    id: int
    name: str
    country: str

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Customer:
        return cls(raw["id"], raw["name"], raw["country"])

def main() -> None:
    customers = [Customer.from_dict(tools.crm.get_customer(id=i)) for i in range(1, 4)]
    for customer in customers:
        print(asdict(customer)["country"], customer.name)

if __name__ == "__main__":
    main()
