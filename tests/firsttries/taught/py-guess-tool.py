# Sentence: finding
# Task: the highest temperature in Berlin
# Want: 21
from tools import weather
max(d["high"] for d in weather.get_forecast(city="Berlin")["days"])
