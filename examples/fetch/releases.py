# urllib is the standard module. The policy decides each host and each redirect.
import json, urllib.request

with urllib.request.urlopen(args["site"] + "/releases.json") as response:
    releases = json.load(response)

try:
    urllib.request.urlopen("https://example.com/")
    elsewhere = "reached"
except PolicyError as e:
    elsewhere = e.code
return {"newest": releases[-1]["tag"], "downloads": sum(r["downloads"] for r in releases), "elsewhere": elsewhere}
