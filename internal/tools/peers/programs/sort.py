def main():
    rows = []
    x = 12345
    for i in range(200000):
        x = (x * 1103 + 12345) % 2147483647
        rows.append(x)
    rows.sort()
    return str(rows[1000]) + ":" + str(rows[199000])
result = main()
