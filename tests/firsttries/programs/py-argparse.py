# Task: a script with options and defaults
# Prints: top 2: Delta Inc, Foxtrot AG
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--top", type=int, default=2)
args = parser.parse_args([])
customers = sorted(tools.crm.list_customers(limit=100)["customers"], key=lambda c: c["mrr"], reverse=True)
print(f"top {args.top}:", ", ".join(c["name"] for c in customers[: args.top]))
