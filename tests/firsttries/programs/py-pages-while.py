# Task: names of all customers (the tool pages)
# Want: ["Acme GmbH","Bolt Ltd","Cyan SA","Delta Inc","Echo BV","Foxtrot AG","Golf SRL"]
names = []
offset = 0
while offset is not None:
    page = tools.crm.list_customers(offset=offset)
    names.extend(c["name"] for c in page["customers"])
    offset = page.get("next_offset")
names
