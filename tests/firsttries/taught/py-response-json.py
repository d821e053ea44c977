# Sentence: answers
# Task: country of customer 7
# Want: "IT"
from tools import crm
crm.get_customer(id=7)["country"]
