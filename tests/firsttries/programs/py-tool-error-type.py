# Sentence: error fields
# Task: is customer 99 missing?
# Want: "missing"
def check(i):
    try:
        tools.crm.get_customer(id=i)
        return "there"
    except (KeyError, ValueError):
        return "wrong type"
    except Exception as e:
        return "missing" if "does not exist" in str(e) else str(e)

check(99)
