# Sentence: overlap
# Task: plans of customers 2 and 4
# Want: ["free","enterprise"]
import asyncio

async def main():
    customers = await asyncio.gather(*[asyncio.to_thread(tools.crm.get_customer, id=i) for i in (2, 4)])
    return [c["plan"] for c in customers]

asyncio.run(main())
