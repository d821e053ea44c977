import re
def main():
    lines = []
    for i in range(80000):
        lines.append("item " + str(i) + " = " + str(i * 7 % 1000))
    text = "\n".join(lines)
    sevens = 0
    for m in re.findall(r"item (\d+) = (\d+)", text):
        if m[1].endswith("7"):
            sevens += 1
    return str(len(text)) + ":" + str(sevens) + ":" + str(len(re.sub(r"\b(\w)(\w*)", lambda m: m.group(1).upper() + m.group(2), "the quick brown fox " * 4000)))
result = main()
