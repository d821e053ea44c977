# Sentence: answers
# Task: name of customer 3
# Want: "Cyan SA"
customer = tools.crm.get_customer(id=3)
customer.name
