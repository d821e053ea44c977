# The second asks a question; the data is still there.
from collections import Counter

spent = Counter()
for o in orders:
    spent[segment[o["customer"]]] += o["total"]
spent.most_common(1)[0]
