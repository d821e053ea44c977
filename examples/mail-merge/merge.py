# Writes to every gold customer of a city. The program joins and counts. It
# sees tokens such as [EMAIL_1] instead of names and addresses. mail.send gets
# the values, because the policy lists it in reveal_to.
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
    "domains": Counter(pii.domain(c["email"]) for c in chosen),  # the domain of a token
}
