# Task: the highest temperature in Berlin
# Want: 21
# Without: content[0].text
# Without: json.loads
forecast = tools.weather.get_forecast(city="Berlin")
max(day["high"] for day in forecast["days"])
