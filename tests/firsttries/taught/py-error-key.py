# Sentence: errors
# Task: is there a forecast for Atlantis?
# Want: false
from tools import weather
try:
    weather.get_forecast(city="Atlantis")
    found = True
except ToolError:
    found = False
found
