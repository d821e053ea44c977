# Sentence: finding
# Task: the name of the tool for forecasts
# Want: "weather.get_forecast"
[t["name"] for t in list_tools() if "forecast" in t["name"]][0]
