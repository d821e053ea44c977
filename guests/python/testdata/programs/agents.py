# --- csv to rows
import csv, io
rows = list(csv.DictReader(io.StringIO('name,age,city\n"Smith, John",42,NYC\nJane,37,"San Francisco"\n')))
print(rows, sorted(rows, key=lambda r: int(r["age"]))[0]["name"])
out = io.StringIO(); w = csv.DictWriter(out, ["a", "b"], extrasaction="ignore"); w.writeheader(); w.writerow({"a": 1, "b": "x,y", "c": 3}); print(out.getvalue().splitlines())
# --- group and total
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
sales = [{"region": "EU", "amt": 100.5}, {"region": "US", "amt": 250}, {"region": "EU", "amt": 75.25}]
totals = defaultdict(float)
for s in sales: totals[s["region"]] += s["amt"]
print(dict(totals), {k: sum(x["amt"] for x in g) for k, g in groupby(sorted(sales, key=itemgetter("region")), key=itemgetter("region"))})
for r, t in sorted(totals.items(), key=lambda kv: -kv[1]): print(f"{r:<5}|{t:>10,.2f}|{t/sum(totals.values()):.1%}")
# --- logs by regex
import re
log = "2026-01-02T10:00:00Z ERROR [db] timeout after 3000ms\n2026-01-02T10:00:01Z INFO [web] GET /x 200\n2026-01-02T10:00:02Z ERROR [web] 500 /y"
pat = re.compile(r"^(?P<ts>\S+) (?P<level>\w+) \[(?P<mod>\w+)\] (?P<msg>.*)$", re.M)
es = [m.groupdict() for m in pat.finditer(log) if m["level"] == "ERROR"]
print(es, len(es), re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) / 1000}s", es[0]["msg"]))
# --- dates of agents
from datetime import datetime, timedelta, timezone, date
d = datetime.fromisoformat("2026-02-28T23:30:00+00:00")
print(d + timedelta(days=1), d.strftime("%A, %d %B %Y %I:%M %p"), d.isocalendar().week, (date(2026, 3, 1) - date(2024, 3, 1)).days, d.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat())
print(sorted(["2026-01-10", "2025-12-31", "2026-01-02"], key=date.fromisoformat), date(2026, 1, 31).replace(day=1) + timedelta(days=31), datetime.min.year, timedelta(hours=30), str(timedelta(seconds=3725)))
# --- zones of agents
from datetime import datetime
from zoneinfo import ZoneInfo
u = datetime(2026, 7, 4, 15, 5, 9, tzinfo=ZoneInfo("UTC"))
for z in ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney"): print(u.astimezone(ZoneInfo(z)).strftime("%Y-%m-%d %H:%M:%S %Z %z"))
print(datetime(2026, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York")).utcoffset(), datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=ZoneInfo("America/New_York")).utcoffset())
# --- months and weeks
import calendar
from datetime import date, timedelta
def add_months(d, n):
    y, m = divmod(d.year * 12 + d.month - 1 + n, 12)
    return date(y, m + 1, min(d.day, calendar.monthrange(y, m + 1)[1]))
print(add_months(date(2026, 1, 31), 1), add_months(date(2026, 12, 15), 3), [str(date(2026, 1, 1) + timedelta(weeks=i)) for i in range(3)], calendar.month_abbr[2], list(calendar.Calendar().itermonthdays(2026, 2))[:9])
# --- words counted
from collections import Counter
import string
text = "The cat sat on the mat. The end! Don't stop; the cat's here."
words = Counter(w.strip(string.punctuation).lower() for w in text.split())
print(words.most_common(3), words.total(), Counter("mississippi") - Counter("miss"), +Counter(a=1, b=-1), Counter(a=2) | Counter(a=1, b=3))
# --- dataclasses of agents
from dataclasses import dataclass, field, asdict, replace, fields
import json
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False, repr=False)
    @property
    def label(self): return f"{self.name} (${self.price:.2f})"
xs = [Item(3.5, "pen"), Item(1, "clip", ["metal"])]
print(sorted(xs), max(xs).label, json.dumps(asdict(xs[1])), replace(xs[0], price=4), [f.name for f in fields(Item)], xs[0] == Item(3.5, "other"))
# --- frozen and slots
from dataclasses import dataclass, FrozenInstanceError
@dataclass(frozen=True, slots=True, kw_only=True)
class P:
    x: int
    y: int = 0
    def __post_init__(self):
        if self.x < 0: raise ValueError(f"x must be positive, got {self.x}")
p = P(x=1)
try: p.x = 5
except FrozenInstanceError as e: print(type(e).__name__, e)
print({p: 1}[P(x=1, y=0)], p)
P(x=-1)
# --- enums of agents
from enum import Enum, IntEnum, auto, Flag, StrEnum
class Status(Enum):
    OPEN = "open"; DONE = "done"
    @classmethod
    def parse(cls, s): return cls(s.lower())
class Pri(IntEnum): LOW = auto(); HIGH = auto()
class Perm(Flag): R = auto(); W = auto()
class Color(StrEnum): RED = auto()
print(Status.parse("OPEN"), list(Status), Pri.HIGH > Pri.LOW, Perm.R | Perm.W, Perm.R in (Perm.R | Perm.W), Color.RED.upper(), Status.OPEN.name, Status["DONE"].value, f"{Color.RED}", f"{Pri.HIGH}")
Status("nope")
# --- generators of agents
from itertools import islice, chain, accumulate, pairwise, batched, zip_longest, count, takewhile, product, combinations
def fib():
    a, b = 0, 1
    while True: yield a; a, b = b, a + b
def flatten(x):
    for i in x:
        if isinstance(i, list): yield from flatten(i)
        else: yield i
print(list(islice(fib(), 10)), list(flatten([1, [2, [3, [4]]]])), list(accumulate([1, 2, 3])), list(pairwise("abc")), list(takewhile(lambda n: n < 50, fib()))[-1], list(product("ab", [1, 2])), list(combinations([1, 2, 3], 2)), list(zip_longest([1], [2, 3], fillvalue=0)))
# --- a generator is sent to
def avg():
    total = n = 0; value = None
    while True:
        x = yield value
        total += x; n += 1; value = total / n
g = avg(); next(g); print([g.send(x) for x in (10, 20, 30)]); g.close()
try: next(g)
except StopIteration as e: print("done", e.value)
# --- asyncio of agents
import asyncio
async def work(n, d):
    await asyncio.sleep(d); return n * 2
async def main():
    print(await asyncio.gather(work(1, .02), work(2, .01), return_exceptions=True))
    async with asyncio.TaskGroup() as tg: ts = [tg.create_task(work(i, .001)) for i in range(3)]
    print([t.result() for t in ts])
    try: await asyncio.wait_for(work(1, 5), .01)
    except asyncio.TimeoutError as e: print("late", type(e).__name__)
    q = asyncio.Queue()
    async def producer():
        for i in range(3): await q.put(i)
        await q.put(None)
    asyncio.create_task(producer()); out = []
    while (x := await q.get()) is not None: out.append(x)
    print(out)
    sem = asyncio.Semaphore(2); done = []
    async def limited(i):
        async with sem: await asyncio.sleep(.001); done.append(i)
    await asyncio.gather(*(limited(i) for i in range(5))); print(sorted(done))
asyncio.run(main())
# --- async comprehension and manager
import asyncio
from contextlib import asynccontextmanager
@asynccontextmanager
async def conn(name):
    print("open", name)
    try: yield name.upper()
    finally: print("close", name)
async def rows():
    for i in range(3): await asyncio.sleep(0); yield i
async def main():
    async with conn("db") as c: print(c, [r * 2 async for r in rows() if r], {r: c async for r in rows()})
asyncio.run(main())
# --- tasks as they end
import asyncio
async def f(d):
    await asyncio.sleep(d)
    if d == .2: raise ValueError("two")
    return d
async def main():
    for c in asyncio.as_completed([f(.3), f(.1), f(.2)]):
        try: print(await c)
        except ValueError as e: print("error", e)
    done, pending = await asyncio.wait([asyncio.create_task(f(.01)), asyncio.create_task(f(1))], return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(pending)); [p.cancel() for p in pending]
asyncio.run(main())
# --- an exception group
try:
    raise ExceptionGroup("several", [ValueError("a"), TypeError("b"), ExceptionGroup("in", [KeyError("c")])])
except* ValueError as g: print("values", [str(e) for e in g.exceptions])
except* (TypeError, KeyError) as g: print("rest", g.message, len(g.exceptions))
# --- chained errors
class AppError(Exception):
    def __init__(self, msg, code=500): super().__init__(msg); self.code = code
def load(s):
    try: return int(s)
    except ValueError as e: raise AppError(f"bad {s!r}", 400) from e
try: load("x")
except AppError as e: print(e, e.code, repr(e.__cause__), e.__cause__.args)
else: print("no")
finally: print("finally")
load("y")
# --- context managers of agents
from contextlib import contextmanager, suppress, ExitStack, redirect_stdout, nullcontext
import io
@contextmanager
def tag(n):
    print(f"<{n}>"); yield n; print(f"</{n}>")
with tag("a") as a, tag("b"): print(a)
with suppress(ZeroDivisionError): 1 / 0
with ExitStack() as s: print([s.enter_context(tag(x)) for x in "xy"])
b = io.StringIO()
with redirect_stdout(b): print("hidden")
print(b.getvalue(), end="")
# --- decorators of agents
import functools, time
def timed(label):
    def deco(f):
        @functools.wraps(f)
        def wrap(*a, **k):
            r = f(*a, **k); print(label, f.__name__, a, k, "->", r); return r
        return wrap
    return deco
@timed("call")
def add(a, b=1): "adds"; return a + b
add(1); add(1, b=5); print(add.__name__, add.__doc__)
@functools.lru_cache(maxsize=None)
def fact(n): return n * fact(n - 1) if n else 1
print(fact(20), fact.cache_info().currsize, functools.reduce(lambda a, b: a * b, range(1, 6)), functools.partial(int, base=2)("101"))
# --- dispatch and protocols
from functools import singledispatch, total_ordering, cached_property
from typing import Protocol, runtime_checkable, NamedTuple
@singledispatch
def show(x): return "any"
@show.register
def _(x: int): return "int"
@show.register(list)
def _(x): return "list"
@runtime_checkable
class Named(Protocol):
    def name(self) -> str: ...
class T:
    def name(self): return "t"
    @cached_property
    def slow(self): print("once"); return 5
class Pt(NamedTuple): x: int; y: int = 2
t = T(); print(show(1), show([]), show(""), isinstance(t, Named), t.slow + t.slow, Pt(1), Pt(1)._asdict(), Pt._fields)
# --- a class with everything
class Vec:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return Vec(self.x + o.x, self.y + o.y)
    def __mul__(self, k): return Vec(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __eq__(self, o): return isinstance(o, Vec) and (self.x, self.y) == (o.x, o.y)
    def __hash__(self): return hash((self.x, self.y))
    def __repr__(self): return f"Vec({self.x}, {self.y})"
    def __iter__(self): yield self.x; yield self.y
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __len__(self): return 2
    def __bool__(self): return any(self)
    def __contains__(self, v): return v in tuple(self)
    def __call__(self, k): return self * k
    def __format__(self, spec): return f"<{self.x:{spec}},{self.y:{spec}}>"
v = Vec(1, 2); print(v + 3 * v, [*v], v[1], len(v), bool(Vec(0, 0)), 2 in v, {v, Vec(1, 2)}, v(2), f"{v:.1f}", v == 5)
v.z = 1
# --- inheritance of agents
from abc import ABC, abstractmethod
class Shape(ABC):
    registry = {}
    def __init_subclass__(cls, **k): super().__init_subclass__(**k); Shape.registry[cls.__name__.lower()] = cls
    @abstractmethod
    def area(self): ...
    def __str__(self): return f"{type(self).__name__} of {self.area():.2f}"
class Sq(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
class Mixin:
    def hi(self): return "hi " + super().hi() if hasattr(super(), "hi") else "hi"
class Both(Mixin, Sq): pass
print(Sq(2), Shape.registry.keys(), [c.__name__ for c in Both.__mro__], Both(1).hi(), issubclass(Both, Shape))
Shape()
# --- matching
def kind(x):
    match x:
        case {"type": "user", "name": str(n), **rest}: return f"user {n} {rest}"
        case [first, *others] if len(others) > 1: return f"list {first} +{len(others)}"
        case (a, b): return f"pair {a} {b}"
        case int() | float() as n if n > 100: return f"big {n}"
        case "yes" | "y": return True
        case None: return "none"
        case _: return "other"
print([kind(x) for x in ({"type": "user", "name": "Al", "age": 3}, [1, 2, 3], (1, 2), 500, 1.5, "y", None, "zzz")])
# --- format strings of agents
n, f, s, d = 1234567, 3.14159, "héllo", {"k": [1, 2]}
print(f"{n:,} {n:>12_} {n:e} {n:x} {n:#b}"[:40], f"{f:.2f} {f:8.3f}| {f:<8.1f}| {f:+.0%}", f"{s!r:>10} {s:*^11} {s[:2]}", f"{d['k'][0]} {d=}", f"{{literal}} {'nested ' + f'{n % 7}'}")
print("{:>5}|{:<5}|{:^5}|{0}".format if False else "{:>5}|{:<5}|{:^5}".format("a", "b", "c"), "%s %05.1f %-5s| %x %%" % ("x", 2.345, "ab", 255), "{a[0]} {b.real}".format(a=[7], b=3 + 4j), "{0:{1}}".format(5, ">4"))
# --- text tools
import textwrap, difflib, unicodedata
t = "The quick brown fox jumps over the lazy dog near the river bank."
print(textwrap.fill(t, 30), textwrap.shorten(t, 30, placeholder="…"), textwrap.dedent("  a\n    b\n").splitlines(), textwrap.indent("x\ny", "> "), sep="\n")
print(list(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm=""))[3:], difflib.get_close_matches("appel", ["ape", "apple", "peach"]), round(difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), 3))
print("".join(c for c in unicodedata.normalize("NFD", "Crème Brûlée") if not unicodedata.combining(c)), "ß".casefold(), "TITLE case".title(), "a-b_c".translate(str.maketrans("-_", "  ")), "x".zfill(3), "a,b,,c".split(","), "k=v=w".partition("="), "tEST".swapcase(), "ab\tc".expandtabs(4))
# --- slugs and cases
import re, unicodedata
def slug(s): return re.sub(r"[^a-z0-9]+", "-", unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode().lower()).strip("-")
def snake(s): return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", s).lower()
def camel(s): h, *t = s.split("_"); return h + "".join(w.capitalize() for w in t)
print([slug(x) for x in ("Héllo, Wörld!", "  A--B  ")], [snake(x) for x in ("camelCaseString", "XMLHttpRequest")], camel("snake_case_here"))
# --- decimals and money
from decimal import Decimal, ROUND_HALF_UP, getcontext, localcontext, InvalidOperation
from fractions import Fraction
p = Decimal("19.99"); print(p * 3, (p * Decimal("0.0825")).quantize(Decimal("0.01"), ROUND_HALF_UP), Decimal(1) / 7, round(2.675, 2), round(0.5), round(1.5), Decimal("1e3"), f"{Decimal('1234.5'):,.2f}", sum([Decimal("0.1")] * 3) == Decimal("0.3"))
with localcontext() as c: c.prec = 5; print(Decimal(2).sqrt(), Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), Fraction(3.5).limit_denominator())
Decimal("abc")
# --- statistics of agents
import statistics as st, math
x = [2, 4, 4, 4, 5, 5, 7, 9]
print(st.mean(x), st.median(x), st.mode(x), st.pstdev(x), round(st.stdev(x), 4), st.quantiles(x, n=4), st.correlation([1, 2, 3], [2, 4, 7]).__round__(4), st.linear_regression([1, 2, 3], [2, 4, 6]), math.isclose(.1 + .2, .3), math.comb(5, 2), math.gcd(12, 18), math.prod([1, 2, 3]), math.dist((0, 0), (3, 4)), math.log2(8), math.inf > 1)
# --- sorting with keys
from operator import attrgetter, itemgetter
from functools import cmp_to_key
ps = [("Zoë", 30), ("adam", 25), ("Bob", 25), ("bob", 30)]
print(sorted(ps, key=lambda p: (p[1], p[0].lower())), sorted(ps, key=itemgetter(1), reverse=True), sorted("bAc", key=str.swapcase), max(ps, key=itemgetter(1)), sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)), sorted({"b": 1, "a": 2}.items(), key=lambda kv: -kv[1]), min([], default="none"))
# --- heaps and bisect
import heapq, bisect
h = []; [heapq.heappush(h, (p, n)) for p, n in ((3, "c"), (1, "a"), (2, "b"))]
print(heapq.heappop(h), heapq.nlargest(2, [5, 1, 9]), list(heapq.merge([1, 4], [2, 3])), bisect.bisect_left([1, 3, 3, 5], 3), bisect.insort(l := [1, 5], 3) or l)
graph = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 5}, "c": {"d": 1}, "d": {}}
dist, pq = {"a": 0}, [(0, "a")]
while pq:
    d, n = heapq.heappop(pq)
    for m, w in graph[n].items():
        if d + w < dist.get(m, 1e9): dist[m] = d + w; heapq.heappush(pq, (d + w, m))
print(dist)
# --- url tools
from urllib.parse import urlparse, parse_qs, urlencode, quote, unquote, urljoin, urlunparse, parse_qsl
u = urlparse("https://user:pw@example.com:8443/a/b?x=1&y=2&x=3#frag")
print(u.hostname, u.port, u.username, u.path, parse_qs(u.query), u.fragment, urlencode({"q": "a b&c", "p": [1, 2]}, doseq=True), quote("a b/é"), unquote("%E2%82%AC"), urljoin("http://x/a/b", "../c"), urlunparse(u._replace(query="z=1")), parse_qsl("a=&b=1", keep_blank_values=True))
# --- hashes and encodings
import hashlib, hmac, base64, binascii, struct, zlib, secrets, uuid
print(hashlib.sha256(b"abc").hexdigest()[:16], hashlib.md5("é".encode()).hexdigest(), hmac.new(b"k", b"d", "sha1").hexdigest(), base64.b64encode("hé".encode()), base64.urlsafe_b64decode("aMOp"), binascii.hexlify(b"\x00\xff"), struct.pack(">IhB", 1, -2, 3), struct.unpack("<f", b"\x00\x00\xc0?"), zlib.crc32(b"abc"), zlib.decompress(zlib.compress(b"x" * 100))[:3], len(secrets.token_hex(8)), uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.UUID(int=5))
# --- json of agents
import json
from datetime import datetime
from dataclasses import dataclass, asdict
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, datetime): return o.isoformat()
        if isinstance(o, set): return sorted(o)
        return super().default(o)
print(json.dumps({"d": datetime(2026, 1, 2), "s": {2, 1}, "n": None, "f": 1.0, "u": "é"}, cls=Enc, indent=2, ensure_ascii=False, sort_keys=True))
print(json.loads('[1, 2.5, "x", null, true, {"a": []}]'), json.dumps(float("nan")), json.dumps({1: "a", None: 2, True: 3}), json.dumps("a\u2028\"</b>"))
json.dumps(object())
# --- sqlite of agents
import sqlite3
db = sqlite3.connect(":memory:"); db.row_factory = sqlite3.Row
db.executescript("create table t (id integer primary key, name text, amt real); create index i on t(name);")
db.executemany("insert into t (name, amt) values (?, ?)", [("a", 1.5), ("b", 2), ("a", 3)])
print([dict(r) for r in db.execute("select name, sum(amt) s, count(*) n from t group by name having n > 0 order by s desc")], db.execute("select json_extract('{\"a\":[1,2]}', '$.a[1]')").fetchone()[0], db.execute("select name from t where amt > :m", {"m": 1.8}).fetchall()[0]["name"])
with db: db.execute("update t set amt = amt * 2")
print(db.execute("select total(amt) from t").fetchone()[0], db.execute("with recursive c(n) as (select 1 union all select n + 1 from c where n < 5) select group_concat(n) from c").fetchone()[0])
db.execute("select nope from t")
# --- xml and html
import xml.etree.ElementTree as ET, html
from html.parser import HTMLParser
root = ET.fromstring('<r><i id="1">a</i><i id="2">b<c/></i></r>')
print([(e.get("id"), e.text) for e in root.iter("i")], root.find("./i[@id='2']/c") is not None, ET.tostring(root.find("i")), html.escape('<a href="x">'), html.unescape("&lt;&eacute;&#39;"))
class L(HTMLParser):
    def __init__(self): super().__init__(); self.links = []
    def handle_starttag(self, t, a):
        if t == "a": self.links.append(dict(a).get("href"))
p = L(); p.feed('<p><a href="/x">1</a><A HREF=y>2</a>'); print(p.links)
# --- paths and files
import os, tempfile, pathlib, shutil, json, glob
with tempfile.TemporaryDirectory() as d:
    p = pathlib.Path(d) / "sub" / "f.json"; p.parent.mkdir(parents=True); p.write_text(json.dumps({"a": 1}), encoding="utf-8")
    print(p.exists(), p.suffix, p.stem, p.name, json.loads(p.read_text()), [x.name for x in pathlib.Path(d).rglob("*.json")], p.stat().st_size, os.path.basename(glob.glob(d + "/sub/*")[0]))
    with open(p, "a") as f: f.write("\nline"); print(f.tell())
    with open(p) as f: print(f.readlines(), sum(1 for _ in open(p)))
    shutil.copy(p, p.with_suffix(".bak")); os.rename(p, p.with_name("g.txt")); print(sorted(os.listdir(p.parent)), os.path.splitext("a/b.tar.gz"))
print(os.path.exists(d), pathlib.PurePosixPath("/a/../b").parts, os.path.join("a", "/b"), os.path.normpath("a/./b/../c"))
open("/tmp/none/such")
# --- zip and gzip
import zipfile, gzip, io, tarfile, bz2
b = io.BytesIO()
with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z: z.writestr("a/x.txt", "hello" * 50)
with zipfile.ZipFile(b) as z: print(z.namelist(), z.read("a/x.txt")[:5], z.getinfo("a/x.txt").file_size)
print(gzip.decompress(gzip.compress(b"data")), bz2.decompress(bz2.compress(b"bz")))
t = io.BytesIO()
with tarfile.open(fileobj=t, mode="w:gz") as tf: i = tarfile.TarInfo("f"); i.size = 3; tf.addfile(i, io.BytesIO(b"abc"))
t.seek(0); print(tarfile.open(fileobj=t).extractfile("f").read())
# --- arguments and configuration
import argparse, configparser, tomllib, shlex
ap = argparse.ArgumentParser(prog="p"); ap.add_argument("name"); ap.add_argument("-n", "--num", type=int, default=3); ap.add_argument("--flag", action="store_true")
print(ap.parse_args(["bob", "-n", "5", "--flag"]))
c = configparser.ConfigParser(); c.read_string("[a]\nx = 1\ny = %(x)s2\n"); print(c["a"].getint("x"), c["a"]["y"], c.sections(), tomllib.loads('a = 1\n[b]\nc = [1, 2]\nd = 2026-01-02'), shlex.split("a 'b c' d\\ e"))
ap.parse_args([])
# --- logging of agents
import logging, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)
log = logging.getLogger("job"); log.info("start %s", 1); log.debug("hidden"); log.warning("careful")
try: 1 / 0
except ZeroDivisionError: log.error("failed: %s", "division")
# --- comprehension gymnastics
m = [[1, 2, 3], [4, 5, 6]]
print([*zip(*m)], [x for r in m for x in r if x % 2], {k: v for k, v in zip("abc", range(3))}, {len(w) for w in ("a", "bb", "cc")}, [(i, j) for i in range(3) for j in range(i)], sum(x * x for x in range(5)), any(x > 5 for r in m for x in r), [y := 1, y ** 2], dict(enumerate("ab", 1)), list(map(lambda a, b: a + b, [1, 2], [3, 4])), [*range(10)][::-3], "abc"[::-1], [[0] * 2 for _ in range(2)])
# --- unpacking of agents
a, *b, c = range(5); (d, e), f = (1, 2), 3
def g(x, /, y, *args, z=0, **kw): return x, y, args, z, kw
print(a, b, c, d, e, f, g(1, 2, 3, z=4, w=5), g(*[1, 2], **{"z": 3}), {**{"a": 1}, "b": 2} | {"c": 3}, [*"ab", *range(2)])
g(1)
# --- scopes of agents
def counter():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
c = counter(); print(c(), c(), counter()())
fs = [lambda i=i: i for i in range(3)]; gs = [lambda: i for i in range(3)]; print([f() for f in fs], [f() for f in gs])
x = 5
def h():
    print(x)
    x = 1
h()
# --- numbers of agents
print(7 // 2, -7 // 2, -7 % 3, divmod(-7, 3), 2 ** 100, 10 ** -2, 1e308 * 10, 0.1 + 0.2, int("ff", 16), int("0b101", 0), bin(10), oct(8), hex(255), round(1234.5678, -2), abs(-3 + 4j), complex("1+2j"), float("1e-5"), (10).bit_length(), (3.75).as_integer_ratio(), int.from_bytes(b"\x01\x00", "big"), True + True, 1_000_000, float.fromhex("0x1.8p1"), 5 .__add__(3), sum([.1] * 10), (2.5).is_integer())
# --- typing at run time
from typing import Optional, Union, Any, Callable, TypedDict, Literal, get_type_hints, Generic, TypeVar, Annotated, get_args
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, v: T) -> None: self.v = v
class Movie(TypedDict, total=False): title: str; year: int
def f(a: int, b: Optional[str] = None, *c: Callable[[int], Any]) -> Union[int, None]: ...
type Pair[A] = tuple[A, A]
def first[A](xs: list[A]) -> A: return xs[0]
print(get_type_hints(f), Box[int], Movie(title="x"), get_args(Literal["a", "b"]), Annotated[int, "m"].__metadata__, Pair.__value__, first([5]), int | None, list[int])
# --- object tricks
import copy, weakref, types, operator
class A:
    def __getattr__(self, n): return f"missing {n}"
    def __setattr__(self, n, v): print("set", n); super().__setattr__(n, v)
a = A(); a.x = [1, [2]]; b = copy.deepcopy(a); b.x[1].append(3); c = copy.copy(a); print(a.x, a.nope, c.x is a.x, hasattr(a, "zzz"), vars(a), getattr(a, "q", 1))
print(type("Dyn", (), {"f": lambda s: 42})().f(), types.SimpleNamespace(k=1), operator.attrgetter("real")(3), isinstance(True, int), callable(print), id(a) == id(a), dir(types.SimpleNamespace(z=1))[-1])
# --- threads in line
from concurrent.futures import ThreadPoolExecutor, as_completed
import queue, threading
with ThreadPoolExecutor(max_workers=4) as ex:
    print(list(ex.map(lambda x: x * x, range(4))))
    fs = {ex.submit(pow, 2, n): n for n in range(3)}
    print(sorted(f.result() for f in as_completed(fs)))
lock = threading.Lock()
with lock: print(lock.locked())
q = queue.Queue(); q.put(1); print(q.get(), q.empty(), threading.current_thread().name)
# --- bytes of agents
b = bytearray(b"hello"); b[0] = 72; b += b"!"; m = memoryview(b)[1:3]
print(b, bytes(m), b.decode(), "é€".encode("utf-8"), "é".encode("latin-1"), b"\xff".decode("utf-8", "replace"), bytes.fromhex("00ff"), b"a,b".split(b","), bytes(3), "abc".encode().hex("-"), b"x" * 3, b"abc"[1], list(b"ab"))
"é".encode("ascii")
# --- random of agents, seeded
import random
random.seed(42); r = random.Random(7)
print(random.randint(1, 100), random.choice("abc"), random.sample(range(100), 3), round(random.uniform(1, 2), 6), random.choices("xy", weights=[1, 3], k=4), r.random(), r.shuffle(l := [1, 2, 3, 4]) or l, round(random.gauss(0, 1), 6))
# --- tables as text
rows = [("name", "qty", "price"), ("apple", 3, 1.5), ("kiwi", 12, 0.25)]
w = [max(len(str(r[i])) for r in rows) for i in range(3)]
for i, r in enumerate(rows):
    print(" | ".join(str(c).rjust(n) if isinstance(c, (int, float)) else str(c).ljust(n) for c, n in zip(r, w)))
    if i == 0: print("-+-".join("-" * n for n in w))
print("\n".join(f"{n!s:<6}{'█' * int(n)}" for n in (1, 3)))
# --- pretty printing
from pprint import pprint, pformat
pprint({"b": list(range(30)), "a": {"nested": {"deep": [1, 2, {"x": "y" * 40}]}}, "c": ("t", {1, 2})}, width=60)
print(pformat([["a" * 30] * 3]), repr("it's"), repr('a"\'b'), ascii("é"), str(b"x"), [1.0, 1e16, 1e-5, 123456789.123], (1,), {1}, set(), frozenset([1]), range(3), slice(1, 2), ..., None, type(1), print, NotImplemented)
# --- strings that are code
import ast, keyword
print(ast.literal_eval("{'a': [1, (2, None)]}"), eval("1 + x", {"x": 2}), keyword.iskeyword("match"), ast.dump(ast.parse("a + 1", mode="eval").body), [n.id for n in ast.walk(ast.parse("x = y + z")) if isinstance(n, ast.Name)])
ns = {}; exec("def f(n): return n * 2", ns); print(ns["f"](4), ast.unparse(ast.parse("if   x:\n  y( 1 )")))
ast.literal_eval("__import__('os')")
# --- caches and memo
import functools
class Memo(dict):
    def __missing__(self, k): self[k] = v = k * 2; return v
m = Memo(); print(m[4], m, dict.fromkeys("ab", 0), {"a": 1}.setdefault("b", []), {"a": 1}.pop("z", None), {**m}.popitem(), [k for k in {"x": 1, "y": 2}], dict([("a", 1)], b=2), {"a": 1, "b": 2} == {"b": 2, "a": 1}, list(reversed({"a": 1, "b": 2})))
{}["missing"]
# --- a queue of work with a deadline
import time, collections
start = time.perf_counter(); d = collections.deque([1, 2, 3], maxlen=3); d.append(4); d.rotate(1); d.appendleft(9)
print(d, time.strftime("%Y-%m-%d", time.gmtime(0)), time.perf_counter() - start < 5, collections.OrderedDict(a=1).move_to_end("a"), collections.ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], collections.namedtuple("P", "x y")(1, 2)._replace(x=5))
