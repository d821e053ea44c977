# Task: a text report from a template
# Want: "Acme GmbH pays 120 a month"
from string import Template

c = tools.crm.get_customer(id=1)
Template("$name pays $mrr a month").substitute(name=c["name"], mrr=c["mrr"])
