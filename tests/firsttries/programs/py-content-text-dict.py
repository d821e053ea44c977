# Sentence: answers
# Task: the highest temperature in Berlin
# Want: 21
import json

result = tools.weather.get_forecast(city="Berlin")
forecast = json.loads(result["content"][0]["text"])
max(day["high"] for day in forecast["days"])
