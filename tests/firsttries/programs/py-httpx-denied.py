# Sentence: grants
# Task: read the status page, or say that it cannot be reached
# Want: "unreachable"
import httpx

try:
    with httpx.Client(timeout=5) as client:
        value = client.get("https://status.acme.example/api").json()["status"]
except httpx.HTTPError:
    value = "unreachable"
value
