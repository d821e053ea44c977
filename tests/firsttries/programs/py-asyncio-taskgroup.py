# Sentence: overlap
# Task: plans of customers 2 and 4
# Want: ["free","enterprise"]
import asyncio

async def plan(i):
    customer = await tools.crm.get_customer(id=i)
    return customer["plan"]

async def main():
    async with asyncio.TaskGroup() as tg:
        tasks = [tg.create_task(plan(i)) for i in (2, 4)]
    return [t.result() for t in tasks]

asyncio.run(main())
