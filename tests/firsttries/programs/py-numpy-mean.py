# Sentence: grants
# Task: mean and standard deviation of the amounts
# Want: [366.5,383.5]
import numpy as np

amounts = np.array([o["amount"] for o in tools.crm.list_orders()["orders"]])
[round(float(amounts.mean()), 2), round(float(amounts.std()), 2)]
