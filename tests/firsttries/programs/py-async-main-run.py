# Sentence: overlap
# Task: how many open issues are there?
# Prints: 3 open issues
import asyncio

async def main():
    issues = await tools.github.list_issues(owner="acme", repo="shop", state="open")
    print(len(issues), "open issues")

asyncio.run(main())
