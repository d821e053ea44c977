# Sentence: personal
# Task: the addresses of the customers in Italy
# Want: ["[EMAIL_1]"]
from tools import crm
customers = [crm.get_customer(id=7)]
[c["email"] for c in customers]
