# Sentence: grants
# Task: read the status page, or say that it cannot be reached
# Want: "unreachable"
import requests

def status():
    try:
        r = requests.get("https://status.acme.example/api", timeout=5)
        r.raise_for_status()
        return r.json()["status"]
    except requests.exceptions.RequestException:
        return "unreachable"

status()
