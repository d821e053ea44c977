# Sentence: finding
# Task: the name of the tool for forecasts
# Want: "weather.get_forecast"
search_tools("forecast")["tools"][0]["name"]
