# Mail may leave only after a person has said yes. The program goes on with
# other work meanwhile, and hears the answer as the value of the call, or as a
# PolicyError that it may catch.
import asyncio
from tools.aio import crm, mail

first = (await crm.list_customers(limit=1))[0]
waiting = asyncio.create_task(mail.send(to=first["email"], subject="Your parcel", body="It is on its way."))
others = await crm.list_customers(limit=500)  # does not wait for the person

try:
    return {"sent": (await waiting)["sent"], "others": len(others)}
except PolicyError as e:
    return {"sent": False, "why": e.code, "others": len(others)}
