# --- list methods
a = [3, 1, 2]
a.append(4)
a.extend([5, 6])
a.insert(0, 0)
a.remove(3)
print(a, a.pop(), a.pop(0), a.index(2), a.count(1), a.reverse(), a, a.copy(), len(a))
# --- sort
a = ["banana", "Apple", "cherry"]
print(sorted(a), sorted(a, key=str.lower), sorted(a, key=len, reverse=True), a.sort(key=lambda s: s[-1]), a)
# --- sort is stable
print(sorted([("b", 1), ("a", 1), ("c", 0)], key=lambda t: t[1]))
# --- sort mixed
sorted([1, "a"])
# --- slices
a = list(range(10))
a[2:5] = ["x"]
del a[::3]
a[1:1] = [7, 8]
print(a, a[-2:], a[::-2])
# --- index error
[1, 2][5]
# --- unpacking
a, *b, c = range(5)
(d, e), f = (1, 2), 3
print(a, b, c, d, e, f, [*b, *"xy"], {**{"a": 1}, "b": 2}, *[1, 2])
# --- unpack error
a, b = [1, 2, 3]
# --- comprehensions
print([x * y for x in range(3) for y in range(3) if x != y], {x: x ** 2 for x in range(4)}, {len(w) for w in ["a", "bb", "cc"]}, sum(x for x in range(5)))
# --- nested comprehension scope
x = 10
print([x for x in range(3)], x, [[y * x for y in range(2)] for x in range(2)])
# --- dict order
d = {"b": 1, "a": 2}
d["c"] = 3
d["b"] = 9
print(d, list(d), d.popitem(), list(reversed(d)), d | {"z": 1}, dict(zip("ab", [1, 2])))
# --- dict methods
d = {"a": 1}
print(d.get("x"), d.get("x", 5), d.setdefault("b", []), d.pop("a"), d.pop("q", None), d.items(), d.keys() & {"b"}, dict.fromkeys("ab", 0), "b" in d)
# --- key error
{"a": 1}["b"]
# --- dict changed
d = {1: 2}
for k in d:
    d[k + 1] = 0
# --- dict update
d = {"a": 1}
d.update(b=2, a=3)
d |= [("c", 4)]
print(d, sorted(d.items(), key=lambda kv: -kv[1]), max(d, key=d.get))
# --- unhashable
{[1]: 2}
# --- sets
a, b = {1, 2, 3}, {2, 3, 4}
print(a & b, a | b, a - b, a ^ b, a <= {1, 2, 3, 4}, a.isdisjoint({9}), frozenset([1]) == {1}, len({1, 1.0, True}))
# --- set methods
s = {1}
s.add(2)
s.update([3, 4])
s.discard(9)
s.remove(1)
print(sorted(s), s.intersection([2, 9]), s.symmetric_difference({2, 7}) == {3, 4, 7})
# --- tuples
t = (1, 2, 3)
print(t + (4,), t * 2, t[1:], t.index(2), (1,), (), tuple("ab"), (1, 2) < (1, 3), hash((1, 2)) == hash((1, 2)))
# --- tuple is fixed
t = (1, 2)
t[0] = 5
# --- counter
from collections import Counter
c = Counter("abracadabra")
print(c.most_common(2), c["z"], c + Counter("a"), c - Counter("aab"), sum(c.values()), Counter(a=1) | Counter(a=3), list(Counter("ab").elements()))
# --- defaultdict
from collections import defaultdict
d = defaultdict(list)
for k, v in [("a", 1), ("b", 2), ("a", 3)]:
    d[k].append(v)
print(d, dict(d), defaultdict(lambda: 5)["x"])
# --- deque
from collections import deque
d = deque([1, 2, 3], maxlen=3)
d.append(4)
d.appendleft(0)
d.rotate(1)
print(d, d[0], list(d), d.maxlen)
# --- namedtuple
from collections import namedtuple
P = namedtuple("P", "x y", defaults=[5])
p = P(1)
print(p, p.x, p._asdict(), p._replace(x=9), P._fields, p == (1, 5))
# --- chainmap and ordereddict
from collections import ChainMap, OrderedDict
m = ChainMap({"a": 1}, {"a": 2, "b": 3})
o = OrderedDict(a=1, b=2)
o.move_to_end("a")
print(m["a"], m["b"], dict(m), o, list(o.popitem(last=False)))
# --- itertools
import itertools as i
print(list(i.chain([1], [2])), list(i.islice(i.count(5, 2), 3)), list(i.accumulate([1, 2, 3])), list(i.groupby("aab"))[0][0], list(i.product("ab", repeat=2))[:2], list(i.permutations("abc", 2))[:3], list(i.combinations("abc", 2)))
# --- itertools more
import itertools as i
print(list(i.zip_longest("ab", "c", fillvalue="-")), list(i.takewhile(lambda x: x < 3, range(9))), list(i.dropwhile(lambda x: x < 3, range(5))), list(i.compress("abc", [1, 0, 1])), list(i.starmap(pow, [(2, 3)])), list(i.pairwise("abc")), list(i.batched("abcde", 2)) if hasattr(i, "batched") else [("a", "b"), ("c", "d"), ("e",)], [list(t) for t in i.tee([1, 2])], list(i.repeat(1, 2)), list(i.filterfalse(None, [0, 1])))
# --- groupby
from itertools import groupby
print({k: [x for _, x in g] for k, g in groupby(sorted([("b", 1), ("a", 2), ("b", 3)]), key=lambda t: t[0])})
# --- functools
from functools import reduce, partial, lru_cache, cmp_to_key, total_ordering, cached_property
@lru_cache
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
print(reduce(lambda a, b: a * b, [1, 2, 3, 4]), partial(pow, 2)(5), f(80), f.cache_info(), sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)))
# --- singledispatch
from functools import singledispatch
@singledispatch
def show(x):
    return "object"
@show.register
def _(x: int):
    return "int"
@show.register(list)
def _(x):
    return "list"
print(show(1), show([]), show("x"))
# --- map filter zip
print(list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1, "", "a"])), list(zip("ab", range(9))), list(enumerate("ab", 1)), list(reversed([1, 2])))
# --- zip strict
list(zip([1], [2, 3], strict=True))
# --- range
r = range(0, 10, 3)
print(r, list(r), r[-1], 6 in r, len(r), r == range(0, 12, 3), list(range(5, 0, -2)), r[1:], range(3).index(2))
# --- copy
import copy
a = [1, [2, 3]]
b, c = copy.copy(a), copy.deepcopy(a)
a[1].append(4)
print(b, c, copy.deepcopy({"x": a}) == {"x": a})
# --- del and aliasing
a = b = [1]
a += [2]
a = a + [3]
print(a, b, a is b)
# --- chained comparison
print(1 < 2 < 3, 1 < 3 > 2, 1 == 1.0 == True, not 1 == 2, None is None, [] == [], () is ())
# --- or and and
print([] or "x", 0 and 1, "" or None or 5, 1 and 2, not [])
# --- walrus
print([y for x in range(4) if (y := x * x) > 1], y)
# --- operator
import operator as o
print(o.itemgetter(1, 2)("abc"), o.attrgetter("real")(5), o.methodcaller("upper")("x"), o.mul(3, 4), sorted([{"a": 2}, {"a": 1}], key=o.itemgetter("a")))
# --- list multiplication
a = [[0] * 2] * 2
a[0][0] = 1
print(a, [[0] * 2 for _ in range(2)])
# --- types and checks
print(type(1), isinstance(True, int), type([]) is list, issubclass(dict, object), callable(print), id(None) == id(None), len(dir([])) > 10)
# --- pprint
import pprint
pprint.pprint({"b": [1, 2, 3] * 9, "a": {"x": "y" * 30, "z": list(range(20))}})
# --- frequency table
text = "the cat and the dog and the bird"
freq = {}
for w in text.split():
    freq[w] = freq.get(w, 0) + 1
for w, n in sorted(freq.items(), key=lambda x: (-x[1], x[0])):
    print(f"{w:<5}{n:>3}")
# --- matrix of strings
rows = [["name", "qty"], ["apple", 3], ["fig", 12]]
widths = [max(len(str(r[i])) for r in rows) for i in range(2)]
for r in rows:
    print(" | ".join(str(c).ljust(w) for c, w in zip(r, widths)))
# --- flatten
def flat(x):
    for i in x:
        if isinstance(i, list):
            yield from flat(i)
        else:
            yield i
print(list(flat([1, [2, [3, [4]], 5]])))
# --- graph search
from collections import deque
g = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
seen, q = {"a"}, deque(["a"])
order = []
while q:
    n = q.popleft()
    order.append(n)
    for m in g[n]:
        if m not in seen:
            seen.add(m)
            q.append(m)
print(order)
# --- topological
from graphlib import TopologicalSorter
print(list(TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}).static_order())[0::3])
