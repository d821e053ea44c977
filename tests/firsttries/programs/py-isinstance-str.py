# Sentence: answers
# Task: the lowest temperature in Paris
# Want: 10
import json

forecast = tools.weather.get_forecast(city="Paris")
if isinstance(forecast, str):
    forecast = json.loads(forecast)
lows = [d["low"] for d in forecast["days"]]
print("lows:", lows)
min(lows)
