# Task: log progress and return the total
# Want: 1900
import logging

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger(__name__)
total = 0
for c in tools.crm.list_customers(limit=100)["customers"]:
    log.info("customer %s has mrr %d", c["name"], c["mrr"])
    total += c["mrr"]
total
