# Sentence: grants
# Task: paid amount per customer with pandas
# Want: {"1":349.5,"4":1500.0,"7":75.75}
import pandas as pd

df = pd.DataFrame(tools.crm.list_orders(status="paid")["orders"])
df.groupby("customer_id")["amount"].sum().to_dict()
