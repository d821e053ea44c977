import json
json.left = "yes"
result = "left"
