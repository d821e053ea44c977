# Sentence: grants
# Task: read the status page, or say that it cannot be reached
# Want: "unreachable"
import json
import urllib.request
from urllib.error import URLError

try:
    with urllib.request.urlopen("https://status.acme.example/api", timeout=5) as r:
        value = json.load(r)["status"]
except URLError:
    value = "unreachable"
value
