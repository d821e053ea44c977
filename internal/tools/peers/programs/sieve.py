def main():
    size = 1000000
    composite = [False] * (size + 1)
    found = 0
    for i in range(2, size + 1):
        if composite[i]:
            continue
        found += 1
        for k in range(i * i, size + 1, i):
            composite[k] = True
    return found
result = main()
