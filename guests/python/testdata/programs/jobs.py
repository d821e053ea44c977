# --- commits by week
import json
from collections import defaultdict
from datetime import datetime
commits = [{"author": {"login": f"u{i % 3}"}, "date": f"2026-01-{i % 28 + 1:02d}T00:00:00Z"} for i in range(100)]
weeks = defaultdict(lambda: defaultdict(int))
for c in commits:
    weeks[datetime.fromisoformat(c["date"]).strftime("%G-W%V")][c["author"]["login"]] += 1
print(json.dumps(weeks, sort_keys=True))
# --- log lines
import re
from collections import Counter
lines = [f"2026-01-0{i % 9 + 1} {'ERROR' if i % 4 == 0 else 'INFO'} svc{i % 3}: code={i % 7}" for i in range(200)]
p = re.compile(r"ERROR (\w+): code=(\d+)")
print(Counter(m.groups() for l in lines if (m := p.search(l))).most_common(3))
# --- join two tables
a = [{"id": i, "name": f"n{i}"} for i in range(5)]
b = [{"ref": i % 5, "v": i} for i in range(20)]
by = {r["id"]: r for r in a}
out = {}
for r in b:
    out.setdefault(by[r["ref"]]["name"], []).append(r["v"])
print({k: sum(v) for k, v in out.items()})
# --- markdown table
rows = [{"k": "a", "v": 1.5}, {"k": "bb", "v": 22}]
print("| k | v |\n|---|---|\n" + "\n".join(f"| {r['k']} | {r['v']:.1f} |" for r in rows))
# --- group and sort
from itertools import groupby
from operator import itemgetter
d = [{"t": "x", "n": 3}, {"t": "y", "n": 1}, {"t": "x", "n": 2}]
print({k: sorted(map(itemgetter("n"), g)) for k, g in groupby(sorted(d, key=itemgetter("t")), itemgetter("t"))})
# --- dedupe keep order
print(list(dict.fromkeys("mississippi")))
# --- moving average
d = [1, 2, 3, 4, 5, 6]
print([round(sum(d[max(0, i - 2):i + 1]) / len(d[max(0, i - 2):i + 1]), 2) for i in range(len(d))])
# --- nested get
d = {"a": {"b": [{"c": 5}]}}
print(d.get("a", {}).get("b", [{}])[0].get("c"), d.get("x", {}).get("y"))
# --- missing nested key
d = {"a": {}}
d["a"]["b"]["c"]
# --- string indices
row = '{"a": 1}'
row["a"]
# --- pagination loop
def page(n): return {"items": list(range(n * 3, n * 3 + 3)), "next": n + 1 if n < 2 else None}
items, n = [], 0
while n is not None:
    p = page(n)
    items += p["items"]
    n = p["next"]
print(items)
# --- retry
tries = 0
def flaky():
    global tries
    tries += 1
    if tries < 3:
        raise ConnectionError("no")
    return "ok"
for i in range(5):
    try:
        print(flaky(), tries)
        break
    except ConnectionError as e:
        print("retry", e)
# --- histogram
import math
d = [1, 2, 2, 3, 3, 3, 10]
for lo in range(0, 12, 4):
    print(f"{lo:>2}-{lo + 3:<2} {'#' * sum(lo <= x < lo + 4 for x in d)}")
# --- percentiles
d = sorted([5, 1, 9, 3, 7])
print({p: d[min(len(d) - 1, int(len(d) * p / 100))] for p in (50, 90, 99)})
# --- levenshtein
def lev(a, b):
    prev = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        cur = [i]
        for j, y in enumerate(b, 1):
            cur.append(min(prev[j] + 1, cur[-1] + 1, prev[j - 1] + (x != y)))
        prev = cur
    return prev[-1]
print(lev("kitten", "sitting"), lev("", "abc"))
# --- csv to json
import csv, io, json
print(json.dumps([{**r, "n": int(r["n"])} for r in csv.DictReader(io.StringIO("n,s\n1,a\n2,\"b,c\"\n"))]))
# --- word count
import string
t = "The quick, quick fox. The END!"
print(sorted({w: t.lower().translate(str.maketrans("", "", string.punctuation)).split().count(w) for w in ("the", "quick")}.items()))
# --- business days
from datetime import date, timedelta
d, n = date(2026, 1, 1), 0
while n < 10:
    d += timedelta(days=1)
    n += d.weekday() < 5
print(d)
# --- tree to paths
t = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
def walk(x, p=()):
    for k, v in x.items():
        if isinstance(v, dict):
            yield from walk(v, p + (k,))
        else:
            yield "/".join(p + (k,)), v
print(dict(walk(t)))
# --- diff of dicts
a, b = {"x": 1, "y": 2}, {"y": 3, "z": 4}
print({k: (a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)})
# --- lru cache class
from collections import OrderedDict
class LRU:
    def __init__(self, n): self.n, self.d = n, OrderedDict()
    def get(self, k):
        if k in self.d:
            self.d.move_to_end(k)
            return self.d[k]
    def put(self, k, v):
        self.d[k] = v
        self.d.move_to_end(k)
        if len(self.d) > self.n:
            self.d.popitem(last=False)
c = LRU(2)
for k in "abac": c.put(k, k)
print(list(c.d))
# --- roman numerals
def roman(n):
    out = ""
    for v, s in [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]:
        out += s * (n // v)
        n %= v
    return out
print([roman(n) for n in (4, 1994, 2026)])
# --- json lines
import json
print([json.loads(l)["a"] for l in '{"a": 1}\n{"a": 2}\n'.splitlines() if l])
# --- template report
from string import Template
print(Template("$n items, $p% done").substitute(n=3, p=50))
# --- money
from decimal import Decimal
print(sum((Decimal(x) for x in ("0.10", "0.20", "19.99")), Decimal()), round(Decimal("2.5")), f"{Decimal('1234567.891'):,.2f}")
# --- slugify
import re, unicodedata
print(re.sub(r"[^a-z0-9]+", "-", unicodedata.normalize("NFKD", "Crème Brûlée & Co!").encode("ascii", "ignore").decode().lower()).strip("-"))
# --- url building
from urllib.parse import urlsplit, parse_qsl, urlencode, urlunsplit
u = urlsplit("https://x.org/p?a=1&b=2")
print(urlunsplit(u._replace(query=urlencode([(k, v) for k, v in parse_qsl(u.query) if k != "a"] + [("c", "é")]))))
# --- spiral matrix
def spiral(m):
    return m and [*m[0]] + spiral([*zip(*m[1:])][::-1])
print(spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))
# --- knapsack
from functools import cache
w, v = (1, 3, 4), (15, 20, 30)
@cache
def best(i, c):
    return 0 if i == len(w) else max(best(i + 1, c), v[i] + best(i + 1, c - w[i]) if w[i] <= c else 0)
print(best(0, 4), best(0, 5))
# --- queens
def queens(n, r=0, cols=(), a=(), b=()):
    return 1 if r == n else sum(queens(n, r + 1, cols + (c,), a + (r + c,), b + (r - c,)) for c in range(n) if c not in cols and r + c not in a and r - c not in b)
print(queens(6))
# --- dijkstra
import heapq
g = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 6}, "c": {"d": 3}, "d": {}}
dist, q = {"a": 0}, [(0, "a")]
while q:
    d, n = heapq.heappop(q)
    for m, w in g[n].items():
        if d + w < dist.get(m, 1e9):
            dist[m] = d + w
            heapq.heappush(q, (d + w, m))
print(dist)
# --- game of life
cells = {(1, 0), (1, 1), (1, 2)}
from collections import Counter
n = Counter((x + i, y + j) for x, y in cells for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
print(sorted(c for c, k in n.items() if k == 3 or k == 2 and c in cells))
