# The second program queries the data.
from collections import Counter

spent = Counter()
for o in orders:
    spent[segment[o["customer"]]] += o["total"]
spent.most_common(1)[0]
