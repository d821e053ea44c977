# Writes to every gold customer of a city. The program joins and counts; it
# never sees a name or an address, only tokens like [EMAIL_1]. mail.send gets
# the real ones, because the policy reveals them there and nowhere else.
from collections import Counter
from tools import crm, mail

customers = crm.list_customers(segment="gold", limit=500)
chosen = [c for c in customers if c["city"] == args["city"]]

answers = [
    mail.send(
        to=c["email"],
        subject="Thank you",
        body=f'Dear {c["name"]},\n\nyou have spent {c["spent"]} with us this year. The next parcel is on the house.\n',
    )
    for c in chosen
]

return {
    "sent": sum(a["sent"] for a in answers),
    "looks_like": chosen[0]["email"],
    "domains": Counter(pii.domain(c["email"]) for c in chosen),  # without the address
}
