# Sentence: calling
# Task: country of customer 7
# Want: "IT"
customer = tools.crm.get_customer({"id": 7})
customer["country"]
