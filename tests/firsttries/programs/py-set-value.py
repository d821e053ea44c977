# Task: the distinct plans
# Want: ["enterprise","free","pro"]
{c["plan"] for c in tools.crm.list_customers(limit=100)["customers"]}
