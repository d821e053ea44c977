# Task: the highest temperature in Berlin
# Want: 21
# Without: json.loads
result = tools.weather.get_forecast(city="Berlin")
max(day["high"] for day in result["days"])
