# Sentence: branches
# Task: how many of Berlin and Atlantis have a forecast?
# Want: 1
import asyncio
from tools import weather

async def one(city):
    return weather.get_forecast(city=city)

answers = await asyncio.gather(*(one(c) for c in ["Berlin", "Atlantis"]), return_exceptions=True)
len([a for a in answers if not isinstance(a, Exception)])
