def main():
    n = 0
    for i in range(1000):
        n += len(call("echo", {"id": i, "name": "widget", "tags": ["a", "b"]})["note"])
    return n
result = main()
