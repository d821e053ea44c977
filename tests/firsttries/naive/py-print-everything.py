# Sentence: purpose
# Task: how many purchases are there in the events?
# Want: 250
import json
from tools import crm
print(json.dumps(crm.list_events(), indent=2))
