# Sentence: error fields
# Task: get the forecast for Atlantis, or say why there is none
# Prints: unknown city: Atlantis
try:
    tools.weather.get_forecast(city="Atlantis")
except Exception as e:
    print(f"Error: {e}")
