# Reads a log of 500,000 lines, more than 40 MB, in ten parts, and returns a summary of
# its errors. With plain tool calls, the log would exceed the context of any model.
import re
from collections import Counter
from tools import logs

error = re.compile(r" ERROR service=(.+?) request=\S+ ms=\d+ (.+)")
counts, lines = Counter(), 0
for offset in range(0, 500_000, 50_000):
    text = logs.read(offset=offset, limit=50_000)
    lines += text.count("\n")
    counts.update(f"{service}: {words}" for service, words in error.findall(text))

worst = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
return {"lines": lines, "errors": counts.total(), "worst": dict(worst[:3])}
