# Sentence: finding
# Task: the highest temperature in Berlin
# Want: 21
from tools import weather
max(d["high"] for d in weather.forecast(city="Berlin", days=5)["days"])
