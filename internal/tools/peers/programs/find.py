import json
result = getattr(json, "left", "no")
