# Sentence: purpose
# Task: the country of the customer with the largest MRR (the cell before this one loaded the customers)
# Want: "US"
max(customers, key=lambda c: c["mrr"])["country"]
