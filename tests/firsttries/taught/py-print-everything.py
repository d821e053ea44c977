# Sentence: purpose
# Task: how many purchases are there in the events?
# Want: 250
from tools import crm
len([e for e in crm.list_events()["events"] if e["kind"] == "purchase"])
