import json
def main():
    rows = []
    for i in range(12000):
        rows.append({"id": i, "name": "user " + str(i), "mail": "u" + str(i) + "@example.com", "tags": ["a", "b", "c"], "ok": i % 2 == 0, "at": {"x": i, "y": [i, i + 1]}})
    text = json.dumps(rows, separators=(",", ":"))
    return str(len(text)) + ":" + str(len(json.dumps(json.loads(text), separators=(",", ":"))))
result = main()
