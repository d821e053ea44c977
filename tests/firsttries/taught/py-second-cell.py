# Sentence: purpose
# Task: the country of the customer with the largest MRR (the cell before this one loaded the customers)
# Want: "US"
from tools import crm
customers = crm.list_customers(limit=100)["customers"]
max(customers, key=lambda c: c["mrr"])["country"]
