# Sentence: grants
# Task: read the status page, or say that it cannot be reached
# Want: "unreachable"
import aiohttp

async def status():
    try:
        async with aiohttp.ClientSession() as session:
            async with session.get("https://status.acme.example/api") as resp:
                return (await resp.json())["status"]
    except aiohttp.ClientError:
        return "unreachable"

await status()
