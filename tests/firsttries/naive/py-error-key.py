# Sentence: errors
# Task: is there a forecast for Atlantis?
# Want: false
from tools import weather
answer = weather.get_forecast(city="Atlantis")
"error" not in answer
