# Sentence: finding
# Task: the tools of the weather server
# Want: ["get_forecast"]
[name for name in dir(tools.weather) if not name.startswith("_")]
