# Task: highs of both cities
# Want: {"Berlin":21,"Paris":23}
out = {}
for city in ["Berlin", "Paris"]:
    forecast = await tools.weather.get_forecast(city=city)
    out[city] = max(d["high"] for d in forecast["days"])
out
