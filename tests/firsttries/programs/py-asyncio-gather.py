# Sentence: overlap
# Task: names of customers 1, 4 and 6
# Want: ["Acme GmbH","Delta Inc","Foxtrot AG"]
import asyncio

async def main():
    customers = await asyncio.gather(*(tools.crm.get_customer(id=i) for i in (1, 4, 6)))
    return [c["name"] for c in customers]

await main()
