# Sentence: overlap
# Task: number of channels
# Prints: 2 channels
import asyncio

async def main():
    res = await tools.slack.list_channels()
    print(len(res["channels"]), "channels")

loop = asyncio.get_event_loop()
loop.run_until_complete(main())
