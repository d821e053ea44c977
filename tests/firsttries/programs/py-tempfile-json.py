# Task: write the issues to a temporary file and read them back
# Want: 3
import json
import os
import tempfile

issues = tools.github.list_issues(owner="acme", repo="shop", state="open")
if isinstance(issues, str):
    issues = json.loads(issues)
with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
    json.dump(issues, f, indent=2)
try:
    with open(f.name, encoding="utf-8") as g:
        data = json.load(g)
finally:
    os.unlink(f.name)
len([i for i in data if i["state"] == "open"])
