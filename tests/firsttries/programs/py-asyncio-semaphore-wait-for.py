# Sentence: overlap
# Task: names of customers 1 to 3, two at a time
# Want: ["Acme GmbH","Bolt Ltd","Cyan SA"]
import asyncio

sem = asyncio.Semaphore(2)

async def load(i):
    async with sem:
        return await asyncio.wait_for(tools.crm.get_customer(id=i), timeout=10)

results = await asyncio.gather(*[load(i) for i in range(1, 4)])
[r["name"] for r in results]
