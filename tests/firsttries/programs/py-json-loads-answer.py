# Sentence: answers
# Task: the highest temperature in Berlin
# Want: 21
import json

forecast = json.loads(tools.weather.get_forecast(city="Berlin"))
max(day["high"] for day in forecast["days"])
