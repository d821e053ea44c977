# Reads every table of a folder and writes a report. Files without a grant in the
# policy cannot be opened.
import csv, json, pathlib
from collections import Counter

sold = Counter()
for path in sorted(pathlib.Path("data").glob("*.csv")):
    with open(path) as f:
        for row in csv.DictReader(f):
            sold[row["item"]] += int(row["count"])
pathlib.Path("out/report.json").write_text(json.dumps(sold, indent=2))

try:
    open("/etc/hostname")
    outside = "read"
except PermissionError:
    outside = "EACCES"
return {"sold": sold, "outside": outside}
