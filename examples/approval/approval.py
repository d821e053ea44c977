# Sends mail after a person approves. The program continues with
# other work meanwhile. The call returns its value or raises a
# PolicyError, which the program can catch.
import asyncio
from tools.aio import crm, mail

first = (await crm.list_customers(limit=1))[0]
waiting = asyncio.create_task(mail.send(to=first["email"], subject="Your parcel", body="It is on its way."))
others = await crm.list_customers(limit=500)  # runs while the question is open

try:
    return {"sent": (await waiting)["sent"], "others": len(others)}
except PolicyError as e:
    return {"sent": False, "why": e.code, "others": len(others)}
