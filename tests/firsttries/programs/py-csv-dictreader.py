# Task: revenue by region from data/sales.csv
# Want: {"north":40.0,"south":36.0,"east, far":10.0}
import csv
import io

text = tools.github.get_file_contents(owner="acme", repo="shop", path="data/sales.csv")
revenue = {}
for row in csv.DictReader(io.StringIO(text)):
    revenue[row["region"]] = revenue.get(row["region"], 0) + int(row["units"]) * float(row["price"])
revenue
