# Sentence: servers
# Task: how many customers are there?
# Want: 7
from tools import crm
crm.list_customers()["total"]
