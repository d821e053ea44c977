# Sentence: branches
# Task: forecasts of several cities; cities that fail are left out
# Want: ["Berlin"]
import asyncio

async def forecast(city):
    return city, await asyncio.to_thread(tools.weather.get_forecast, city=city)

async def main():
    results = await asyncio.gather(*(forecast(c) for c in ["Berlin", "Atlantis"]), return_exceptions=True)
    return [r[0] for r in results if not isinstance(r, Exception)]

asyncio.run(main())
