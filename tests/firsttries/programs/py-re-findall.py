# Task: which addresses timed out, from logs/app.log?
# Want: ["10.0.0.7","10.0.0.9"]
import re

log = tools.github.get_file_contents(owner="acme", repo="shop", path="logs/app.log")
re.findall(r"ERROR timeout from ([\d.]+)", log)
