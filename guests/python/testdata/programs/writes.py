# --- sales by region
from collections import defaultdict
sales = [{"region": "EU", "amount": 120.5}, {"region": "US", "amount": 80}, {"region": "EU", "amount": 19.5}]
totals = defaultdict(float)
for s in sales:
    totals[s["region"]] += s["amount"]
for region, total in sorted(totals.items(), key=lambda kv: -kv[1]):
    print(f"{region:<6}{total:>10,.2f}")
print(dict(totals))

# --- csv there and back
import csv, io
text = 'name,quote,qty\r\n"Doe, Jane","She said ""hi""",3\r\nBob,,7\r\n'
rows = list(csv.DictReader(io.StringIO(text)))
print(rows, sum(int(r["qty"]) for r in rows))
out = io.StringIO()
w = csv.DictWriter(out, fieldnames=["a", "b"], quoting=csv.QUOTE_NONNUMERIC)
w.writeheader(); w.writerows([{"a": 1, "b": "x"}, {"a": 2.5, "b": 'say "x"'}])
print(repr(out.getvalue()))
print(csv.Sniffer().sniff("a;b;c\n1;2;3\n").delimiter, list(csv.reader(["a|b"], delimiter="|")))

# --- hashes of every kind
import hashlib, hmac, binascii, zlib
for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s"):
    print(name, hashlib.new(name, b"hello world").hexdigest()[:32])
print(hashlib.sha512(b"abc").hexdigest())
print(hmac.new(b"key", b"msg", hashlib.sha512).hexdigest()[:20], hmac.compare_digest("a", "a"))
print(hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 1000).hex()[:16], hashlib.shake_128(b"x").hexdigest(8), zlib.crc32(b"hello"), binascii.hexlify(b"hi"))
print(sorted(hashlib.algorithms_guaranteed)[:4], hashlib.file_digest(__import__("io").BytesIO(b"x"), "sha256").hexdigest()[:8])

# --- dates as reports need them
from datetime import datetime, date, timedelta, timezone, time
d = datetime(2024, 2, 29, 13, 5, 9, tzinfo=timezone.utc)
print(d.isoformat(), d.strftime("%Y-%m-%d %H:%M:%S %Z %A %B %j %U %p %-d" if False else "%Y-%m-%d %H:%M:%S %Z %A %B %j %U %p"))
print(d + timedelta(days=1, hours=2), (date(2024, 12, 25) - date(2024, 1, 1)).days, d.timestamp(), d.weekday(), d.isocalendar())
print(datetime.strptime("05/Jan/2024:10:11:12 +0200", "%d/%b/%Y:%H:%M:%S %z"), datetime.fromisoformat("2024-01-01T00:00:00Z").utcoffset())
print(date.fromisoformat("2024-02-29").replace(year=2023, day=28), datetime.combine(date(2024, 1, 1), time(9, 30)), str(timedelta(seconds=98765.4321)))
print(max([date(2024, 1, 1), date(2023, 1, 1)]), date.today() >= date(2024, 1, 1), datetime.min.year, divmod(timedelta(hours=5), timedelta(hours=2)))

# --- zones
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
t = datetime(2024, 7, 1, 12, tzinfo=timezone.utc)
for z in ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney"):
    print(z, t.astimezone(ZoneInfo(z)).strftime("%Y-%m-%d %H:%M %Z %z"))
print(datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=1).utcoffset())

# --- regular expressions of agents
import re
log = """2024-01-05 ERROR [db] timeout after 300ms
2024-01-06 WARN [api] slow: 1200ms
noise"""
pattern = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d) (?P<level>[A-Z]+) \[(?P<source>\w+)\] (?P<message>.*)$", re.M)
print([m.groupdict() for m in pattern.finditer(log)])
print(re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"), re.split(r"[,;]\s*", "a, b;c"), re.findall(r"(\w)(\d)", "a1 b2"), re.fullmatch(r"\d+", "12a"))
print(re.sub(r"\d+", lambda m: str(int(m[0]) * 2), "1 22 333"), re.escape("a.b*c"), re.search(r"(?i)HELLO", "say hello").span(), re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", "1234567"))
try:
    re.compile("(unclosed")
except re.error as e:
    print(e)

# --- asynchronous orchestration
import asyncio, time
async def fetch(n, delay):
    await asyncio.sleep(delay)
    if n == 3:
        raise ValueError(f"bad {n}")
    return n * 10
async def main():
    results = await asyncio.gather(*(fetch(n, 0.01) for n in range(5)), return_exceptions=True)
    print([r if not isinstance(r, Exception) else repr(r) for r in results])
    try:
        await asyncio.wait_for(fetch(1, 5), timeout=0.01)
    except asyncio.TimeoutError as e:
        print("timeout", type(e).__name__)
    sem = asyncio.Semaphore(2); running = most = 0
    async def limited(n):
        nonlocal running, most
        async with sem:
            running += 1; most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return n
    print(await asyncio.gather(*map(limited, range(6))), most)
    done, pending = await asyncio.wait([asyncio.create_task(fetch(1, 0)), asyncio.create_task(fetch(2, 5))], return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(pending), done.pop().result())
    for p in pending:
        p.cancel()
    for c in asyncio.as_completed([fetch(7, 0.02), fetch(8, 0.001)]):
        print(await c)
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(fetch(3, 0)); tg.create_task(fetch(4, 1))
    except* ValueError as group:
        print([str(e) for e in group.exceptions])
    async with asyncio.timeout(1):
        print(await fetch(0, 0))
asyncio.run(main())

# --- queues of workers
import asyncio
async def worker(name, queue, out):
    while True:
        item = await queue.get()
        await asyncio.sleep(0)
        out.append(item * item)
        queue.task_done()
async def main():
    queue, out = asyncio.Queue(), []
    for i in range(6):
        queue.put_nowait(i)
    tasks = [asyncio.create_task(worker(f"w{i}", queue, out)) for i in range(3)]
    await queue.join()
    for t in tasks:
        t.cancel()
    print(await asyncio.gather(*tasks, return_exceptions=True), sorted(out))
    event, lock = asyncio.Event(), asyncio.Lock()
    async def waiter():
        await event.wait()
        async with lock:
            return "woke"
    w = asyncio.create_task(waiter())
    await asyncio.sleep(0); event.set()
    print(await w, lock.locked())
asyncio.run(main())

# --- async generators and context managers
import asyncio, contextlib
async def pages(total, size):
    for start in range(0, total, size):
        await asyncio.sleep(0)
        yield list(range(start, min(start + size, total)))
@contextlib.asynccontextmanager
async def connection(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)
async def main():
    async with connection("db") as c:
        print(c, [x async for page in pages(5, 2) for x in page])
    async with contextlib.AsyncExitStack() as stack:
        print(await stack.enter_async_context(connection("x")))
asyncio.run(main())

# --- dataclasses in many forms
from dataclasses import dataclass, field, asdict, astuple, replace, fields, KW_ONLY
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False, repr=False)
    _: KW_ONLY
    qty: int = 1
    @property
    def total(self): return self.price * self.qty
    def __post_init__(self):
        if self.price < 0: raise ValueError("negative price")
@dataclass(frozen=True, slots=True)
class Point:
    x: int; y: int = 0
a, b = Item(2.5, "b", qty=4), Item(1.5, "a", ["t"])
print(sorted([a, b]), asdict(b), astuple(a), a.total, replace(b, name="z"), [f.name for f in fields(Item)])
try:
    Point(1).x = 2
except Exception as e:
    print(type(e).__name__, e)
try:
    Item(-1, "x")
except ValueError as e:
    print(e)
print({Point(1, 2): "p"}[Point(1, 2)], Point(1) == Point(1, 0))

# --- enums
from enum import Enum, IntEnum, Flag, auto, StrEnum, unique
class Color(Enum):
    RED = "r"; GREEN = "g"
    @classmethod
    def parse(cls, s): return cls[s.upper()]
class Level(IntEnum):
    LOW = 1; HIGH = 10
class Perm(Flag):
    R = auto(); W = auto(); X = auto()
class S(StrEnum):
    A = auto()
print(Color("r"), Color.parse("green").value, list(Color), Level.HIGH > Level.LOW, Level(10).name, Perm.R | Perm.W, Perm.R in (Perm.R | Perm.X), f"{S.A}", Color.RED.name, repr(Level.LOW))
try:
    Color("z")
except ValueError as e:
    print(e)

# --- typing at work
from typing import NamedTuple, TypedDict, Protocol, Generic, TypeVar, Optional, Union, Literal, Callable, get_type_hints, runtime_checkable, Any
class P(NamedTuple):
    x: int; y: int = 2
class Movie(TypedDict, total=False):
    name: str; year: int
@runtime_checkable
class Sized2(Protocol):
    def size(self) -> int: ...
class Box:
    def size(self): return 3
T = TypeVar("T")
class Stack(Generic[T]):
    def __init__(self) -> None: self.items: list[T] = []
    def push(self, item: T) -> "Stack[T]": self.items.append(item); return self
def f(a: int, b: Optional[str] = None, *c: float, d: Literal["x"] = "x", **e: Any) -> Union[int, str]: ...
print(P(1)._asdict(), P(1)._replace(y=5), Movie(name="x"), isinstance(Box(), Sized2), Stack[int]().push(1).items, get_type_hints(f)["b"], f.__annotations__["a"])

# --- decorators
import functools, time
def retry(times=3, exceptions=(Exception,)):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return fn(*args, **kwargs)
                except exceptions as e:
                    print(f"attempt {attempt} failed: {e}")
                    if attempt == times: raise
        return inner
    return wrap
calls = 0
@retry(times=3, exceptions=(ValueError,))
def flaky(x):
    "Sometimes fails."
    global calls; calls += 1
    if calls < 3: raise ValueError("not yet")
    return x * 2
print(flaky(21), flaky.__name__, flaky.__doc__)
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), fib.cache_info())
class Temp:
    @functools.cached_property
    def value(self): print("computed"); return 42
    @functools.singledispatchmethod
    def show(self, x): return "other"
    @show.register
    def _(self, x: int): return "int"
t = Temp(); print(t.value, t.value, t.show(1), t.show("x"), functools.reduce(lambda a, b: a * b, range(1, 6)), functools.partial(int, base=2)("101"))

# --- collections
from collections import Counter, OrderedDict, deque, ChainMap, namedtuple, UserDict
c = Counter("mississippi"); c.update("miss"); c.subtract("s")
print(c.most_common(2), +c, c & Counter("mmss"), c.total(), sum(c.values()), c["zzz"])
d = deque([1, 2, 3], maxlen=3); d.append(4); d.rotate(1); d.appendleft(9)
print(d, list(d)[::-1], d.index(9), ChainMap({"a": 1}, {"a": 2, "b": 3})["b"])
Point = namedtuple("Point", "x y", defaults=[0]); print(Point(1), Point(1)._fields, Point(3, 4)[1])
o = OrderedDict(a=1, b=2); o.move_to_end("a"); print(list(o), o.popitem(last=False))

# --- itertools
import itertools as it, operator
print(list(it.chain.from_iterable([[1], [2, 3]])), list(it.islice(it.count(5, 5), 3)), list(it.accumulate([1, 2, 3], operator.mul)), list(it.pairwise("abc")))
rows = sorted([("b", 1), ("a", 2), ("b", 3)])
print({k: [v for _, v in g] for k, g in it.groupby(rows, key=operator.itemgetter(0))}, list(it.product("ab", [1, 2]))[:3], list(it.combinations(range(4), 2))[-1], list(it.permutations("abc", 2))[2])
print(list(it.zip_longest([1, 2], "a", fillvalue="-")), list(it.takewhile(lambda x: x < 3, [1, 2, 5, 1])), list(it.dropwhile(lambda x: x < 3, [1, 5, 1])), list(it.starmap(pow, [(2, 3)])), list(it.compress("abc", [1, 0, 1])), it.tee([1])[1].__next__(), list(it.filterfalse(None, [0, 1])), list(it.repeat("x", 2)), next(it.cycle("z")))

# --- string formatting
name, n, pi = "Ann", 1234567.891, 3.14159
print(f"{name!r:>10}|{name:^9}|{name:*<6}|{n:,.2f}|{n:e}|{pi:.3f}|{42:08b}|{255:#x}|{0.256:.1%}|{-5:+d}|{n:_}|{name=}|{pi:{10}.{2}f}|{'x' if n else 'y'}")
print("{0} {1} {0} {key[a]} {obj.real}".format("a", "b", key={"a": 1}, obj=5), "%s %05d %.2f %x %%" % ("s", 42, 1.5, 255), "{:>{w}}".format("r", w=5), "abc".center(9, "-"), "x".join(["1", "2"]))
from string import Template, capwords
print(Template("$who likes ${what} $$").substitute(who="tim", what="kung pao"), capwords("hello big world"), "Hello".swapcase(), "a\tb".expandtabs(4), "  x ".strip() + "|", "ßx".upper(), "title case's".title(), "abc".translate(str.maketrans("ab", "xy", "c")), "a,b,,c".split(","), "k=v=w".partition("="), "x y  z".split(), "lines\nof\r\ntext".splitlines(), "café".encode("ascii", "ignore"), "%-5s|" % "ab", "prefix-x".removeprefix("prefix-"), f"{1_000_000:,}")
print(f"{ {'a': 1}['a'] }", f"{'nested ' + f'{1 + 1}'}", f"{3.0:g} {1e20:g} {2.50:g}", format(1234.5, "010.1f"), f"{'é':>3}|", str(1e16), repr(0.1 + 0.2), round(2.5), round(2.675, 2), 7 // -2, -7 % 3, 2 ** -1, 10 ** 20, int("ff", 16), float("1e3"), complex(1, 2) * 2, 0.1 + 0.2 == 0.3, divmod(-7, 2), hex(255), oct(8), bin(5), abs(-3), pow(3, -1, 7))

# --- textwrap, pprint, difflib
import textwrap, pprint, difflib
text = "The quick brown fox jumps over the lazy dog. " * 3
print(textwrap.fill(text, 40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(text, 30), textwrap.dedent("    a\n      b\n").splitlines(), textwrap.indent("a\nb", "> "))
pprint.pprint({"users": [{"name": "Ann", "roles": ["admin", "editor", "viewer"], "address": {"city": "Oslo", "zip": "0150"}}, {"name": "Bo", "roles": []}], "total": 2}, width=60)
print("\n".join(difflib.unified_diff("a\nb\nc".split("\n"), "a\nB\nc\nd".split("\n"), "old", "new", lineterm="")), difflib.get_close_matches("appel", ["ape", "apple", "peach"]), round(difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), 3))

# --- errors of all kinds
class AppError(Exception):
    def __init__(self, message, code=500):
        super().__init__(message); self.code = code
def risky(x):
    try:
        return 10 / x
    except ZeroDivisionError as e:
        raise AppError("cannot divide", 400) from e
    finally:
        print("cleanup", x)
try:
    risky(0)
except AppError as e:
    print(e, e.code, repr(e.__cause__), type(e).__mro__[1].__name__)
for bad in ("int('x')", "[][1]", "{}['k']", "None.foo", "'a' + 1", "undefined_name", "len(5)", "{}.x", "(1).y", "import_nothing()", "'abc'.foo", "[1,2].push(3)", "int([])", "next(iter([]))", "{[]: 1}", "'%d' % 'x'", "float('abc')", "'{}'.format()", "b'x' + 'y'", "range(1.5)", "sorted([1, 'a'])", "import_module"):
    try:
        eval(bad)
    except Exception as e:
        print(bad, "->", type(e).__name__, e)
e = ExceptionGroup("many", [ValueError(1), TypeError("t")]); print(e, e.split(ValueError)[0].exceptions)
try:
    assert 1 == 2, "math works"
except AssertionError as e:
    print("assert", e)
try:
    raise KeyError("k") from None
except KeyError as e:
    e.add_note("look here"); print(e, e.__notes__, e.__suppress_context__)

# --- tracebacks as text
import traceback, sys, logging, io
def inner(): return 1 / 0
try:
    inner()
except ZeroDivisionError:
    lines = traceback.format_exc().splitlines()
    print(lines[0], lines[-1], [f.name for f in traceback.extract_tb(sys.exc_info()[2])], sys.exc_info()[0].__name__)
stream = io.StringIO()
log = logging.getLogger("agent"); log.setLevel(logging.INFO)
h = logging.StreamHandler(stream); h.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s")); log.addHandler(h); log.propagate = False
log.info("hi %s", "there"); log.debug("no"); log.warning("w %d%%", 5)
try:
    inner()
except Exception:
    log.exception("failed")
print(stream.getvalue().splitlines()[:3], stream.getvalue().splitlines()[-1])

# --- files in tmp
import os, tempfile, shutil, pathlib, glob, json
with tempfile.TemporaryDirectory(dir="/tmp") as d:
    p = pathlib.Path(d)
    (p / "sub" / "deep").mkdir(parents=True)
    (p / "a.json").write_text(json.dumps({"n": 1}, indent=2))
    with open(p / "log.txt", "a") as f:
        f.write("line 1\n"); print("line 2", file=f)
    shutil.copy(p / "a.json", p / "sub" / "b.json"); (p / "log.txt").rename(p / "sub" / "log.txt")
    print(sorted(str(x.relative_to(p)) for x in p.rglob("*")), (p / "sub" / "log.txt").read_text().splitlines(), os.path.getsize(p / "a.json"), (p / "a.json").suffix, (p / "a.json").stem)
    print(sorted(os.path.basename(x) for x in glob.glob(f"{d}/**/*.json", recursive=True)), [sorted(f) for _, _, f in os.walk(d)][0], (p / "nope").exists(), os.path.isdir(p / "sub"))
    shutil.move(str(p / "sub"), str(p / "moved")); shutil.make_archive(str(p / "arch"), "zip", p / "moved"); shutil.rmtree(p / "moved")
    print(sorted(os.listdir(d)))
    with tempfile.NamedTemporaryFile("w+", dir=d, suffix=".txt") as t:
        t.write("abc"); t.seek(0); print(t.read())
print(os.path.exists(d), os.path.join("a", "b", "..", "c"), os.path.splitext("x.tar.gz"), os.path.normpath("a/./b/../c"), pathlib.PurePosixPath("/a/b.txt").with_suffix(".md"))

# --- zip, gzip, tar, bz2
import zipfile, gzip, io, tarfile, bz2, zlib
buf = io.BytesIO()
with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.txt", "hello " * 100); z.writestr("dir/b.bin", bytes(range(256)))
with zipfile.ZipFile(io.BytesIO(buf.getvalue())) as z:
    print(z.namelist(), z.read("a.txt")[:5], z.getinfo("dir/b.bin").file_size, z.testzip(), [i.compress_size < i.file_size for i in z.infolist()][:1])
    with z.open("a.txt") as f: print(f.readline()[:11])
data = gzip.compress(b"payload" * 50, mtime=0); print(gzip.decompress(data)[:7], len(data) < 60, zlib.decompress(zlib.compress(b"z" * 99)) == b"z" * 99, bz2.decompress(bz2.compress(b"b"))) 
import tempfile
with tempfile.TemporaryDirectory() as d:
    with gzip.open(d + "/x.gz", "wt") as f: f.write("text\n")
    with gzip.open(d + "/x.gz", "rt") as f: print(f.read())
t = io.BytesIO()
with tarfile.open(fileobj=t, mode="w:gz") as tar:
    info = tarfile.TarInfo("f.txt"); info.size = 3; tar.addfile(info, io.BytesIO(b"abc"))
t.seek(0)
with tarfile.open(fileobj=t) as tar: print(tar.getnames(), tar.extractfile("f.txt").read())
try:
    zipfile.ZipFile(io.BytesIO(b"no zip"))
except zipfile.BadZipFile as e:
    print(e)

# --- urls
from urllib.parse import urlparse, urlencode, quote, unquote, parse_qs, parse_qsl, urljoin, urlsplit, urlunsplit, quote_plus
u = urlparse("https://user:pw@example.com:8080/a/b;p?q=1&q=2&x=%20y#frag")
print(u.scheme, u.netloc, u.hostname, u.port, u.path, u.params, u.query, u.fragment, u._replace(query="").geturl())
print(parse_qs(u.query), parse_qsl("a=1&b="), parse_qs("a=&b=2", keep_blank_values=True), urlencode({"a": "x y", "b": ["1", "2"]}, doseq=True), quote("a b/ü"), quote_plus("a b&c"), unquote("%E4%BD%A0%20x"), urljoin("https://x.org/a/b", "../c?d"), urlsplit("//h/p").netloc)

# --- urllib without a network is refused with words
import urllib.error, urllib.request
r = urllib.request.Request("https://example.com/x", data=b"{}", headers={"X-A": "1"}, method="POST")
print(r.full_url, r.get_method(), r.host, r.get_header("X-a"), r.data)

# --- sqlite in memory
import sqlite3
db = sqlite3.connect(":memory:"); db.row_factory = sqlite3.Row
db.execute("create table t (id integer primary key, name text, qty real)")
db.executemany("insert into t (name, qty) values (?, ?)", [("a", 1), ("b", 2.5), ("a", 4)])
print([dict(r) for r in db.execute("select name, sum(qty) total, count(*) n from t group by name order by total desc")], db.total_changes)
with db:
    db.execute("update t set qty = qty * 2 where name = :n", {"n": "b"})
print(db.execute("select qty from t where name='b'").fetchone()[0], db.execute("select json_extract('{\"a\": [1,2]}', '$.a[1]')").fetchone()[0], db.execute("select date('2024-01-31', '+1 month')").fetchone()[0])
try:
    db.execute("selec 1")
except sqlite3.OperationalError as e:
    print(e)
db.create_function("twice", 1, lambda x: x * 2); print(db.execute("select twice(21), row_number() over (order by id) from t limit 1").fetchone()[:])

# --- decimals and fractions
from decimal import Decimal, ROUND_HALF_UP, getcontext, InvalidOperation, localcontext
from fractions import Fraction
print(Decimal("0.1") + Decimal("0.2"), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), sum(map(Decimal, ["1.10", "2.20"])), Decimal(1) / 3, f"{Decimal('1234567.891'):,.2f}", Decimal("1E+3"), Fraction(1, 3) + Fraction("0.25"), Fraction(0.5).limit_denominator(), float(Fraction(3, 4)))
with localcontext() as c:
    c.prec = 5; print(Decimal(2).sqrt())
try:
    Decimal("x")
except InvalidOperation as e:
    print(type(e).__name__)

# --- statistics and mathematics
import statistics as st, math, random
data = [2, 4, 4, 4, 5, 5, 7, 9]
print(st.mean(data), st.median(data), st.mode(data), st.stdev(data), st.pstdev(data), st.quantiles(data, n=4), st.variance(data), round(st.geometric_mean(data), 4), st.multimode("aabbc"), st.linear_regression([1, 2, 3], [2, 4, 6]), st.correlation([1, 2, 3], [1, 2, 3.5]))
print(math.comb(5, 2), math.gcd(12, 18), math.lcm(4, 6), math.isclose(0.1 + 0.2, 0.3), math.prod([1, 2, 3]), math.floor(-1.5), math.hypot(3, 4), math.log(8, 2), math.factorial(20), math.dist((0, 0), (1, 1)), math.isqrt(17), math.fsum([0.1] * 10), math.degrees(math.pi), math.inf > 1, math.copysign(1, -0.0))
random.seed(42); print(random.randint(1, 100), random.choice("abc"), random.sample(range(10), 3), round(random.random(), 6), random.choices([1, 2], k=3), random.gauss(0, 1)); x = [1, 2, 3, 4]; random.shuffle(x); print(x)

# --- json in every way
import json
from datetime import date
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, date): return o.isoformat()
        if isinstance(o, set): return sorted(o)
        return super().default(o)
print(json.dumps({"d": date(2024, 1, 1), "s": {2, 1}, "t": (1, 2), "n": None, "f": 1.0, "u": "é😀"}, cls=Enc), json.dumps({"b": 1, "a": [1, 2]}, indent=2, sort_keys=True), json.dumps("é", ensure_ascii=False), json.dumps([1, 2], separators=(",", ":")))
print(json.loads('{"a": 1.50, "b": [true, null], "c": "\\u00e9"}', parse_float=str), json.loads("[1, 2]", parse_int=float), json.loads('{"x": 1}', object_hook=lambda d: list(d.items())), json.loads('{"a":1,"a":2}', object_pairs_hook=list))
for bad in ('{"a": 1,}', "{'a': 1}", "", "[1, 2", "nul", '{"a" 1}', '"\n"'):
    try:
        json.loads(bad)
    except json.JSONDecodeError as e:
        print(e.lineno, e.colno, e.pos)
try:
    json.dumps({"x": object()})
except TypeError as e:
    print(e)
print(json.dumps({1: "a", None: "b", True: "c", 1.5: "d"}), json.dumps(float("inf")), json.loads("1e400"), json.loads("123456789012345678901234567890"))

# --- generators
def chunked(seq, n):
    for i in range(0, len(seq), n): yield seq[i:i + n]
def running():
    total = 0
    while True:
        x = yield total
        if x is None: return "done"
        total += x
g = running(); next(g); print(g.send(5), g.send(7))
try:
    g.send(None)
except StopIteration as e:
    print(e.value)
def flatten(x):
    for i in x:
        if isinstance(i, list): yield from flatten(i)
        else: yield i
def closing():
    try: yield 1
    finally: print("closed")
print(list(chunked(list(range(7)), 3)), list(flatten([1, [2, [3, [4]]]])), sum(x * x for x in range(5)), {k: v for k, v in zip("ab", (1, 2))}, {len(w) for w in ("a", "bb", "cc")}, [*range(3), *"ab"], dict(a=1) | {"b": 2})
c = closing(); next(c); c.close()

# --- pattern matching
def handle(cmd):
    match cmd:
        case {"type": "move", "to": [x, y]}: return f"move {x},{y}"
        case {"type": "say", "text": str(t), **rest}: return f"say {t} {rest}"
        case [first, *others] if others: return f"list {first} {others}"
        case int() | float() as n if n > 10: return f"big {n}"
        case "quit" | "exit": return "bye"
        case None: return "none"
        case _: return f"unknown {cmd!r}"
for c in ({"type": "move", "to": [1, 2]}, {"type": "say", "text": "hi", "loud": True}, [1, 2, 3], 42, "exit", None, 3, {"type": "say", "text": 5}): print(handle(c))

# --- classes with everything
class Meta(type):
    registry = {}
    def __new__(m, name, bases, ns, **kw):
        cls = super().__new__(m, name, bases, ns); Meta.registry[name] = kw.get("tag"); return cls
class Base(metaclass=Meta):
    def __init_subclass__(cls, /, **kw): super().__init_subclass__(); cls.sub = True
class A(Base, tag="a"): ...
class Vector:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return Vector(self.x + o.x, self.y + o.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __eq__(self, o): return isinstance(o, Vector) and (self.x, self.y) == (o.x, o.y)
    def __hash__(self): return hash((self.x, self.y))
    def __repr__(self): return f"Vector({self.x}, {self.y})"
    def __bool__(self): return bool(self.x or self.y)
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __iter__(self): yield self.x; yield self.y
    def __len__(self): return 2
    def __contains__(self, v): return v in (self.x, self.y)
    def __call__(self, s): return f"{s}{self}"
    def __format__(self, spec): return f"<{self.x:{spec}}>"
v = 2 * Vector(1, 2) + Vector(0, 1)
print(v, v == Vector(2, 5), bool(Vector(0, 0)), v[1], [*v], len(v), 5 in v, v("v="), f"{v:.1f}", Meta.registry, A.sub, {v: 1}[Vector(2, 5)])
class Desc:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, tp=None): return getattr(obj, self.name, None) if obj else self
    def __set__(self, obj, value):
        if value < 0: raise ValueError("must be positive")
        setattr(obj, self.name, value)
class Acc:
    balance = Desc()
    def __getattr__(self, name): return f"no {name}"
a = Acc(); a.balance = 5
try: a.balance = -1
except ValueError as e: print(e, a.balance, a.zzz, vars(a))

# --- abstract classes and mixins
from abc import ABC, abstractmethod
class Shape(ABC):
    @property
    @abstractmethod
    def area(self): ...
    @staticmethod
    def unit(): return "cm"
class JsonMixin:
    def to_json(self): import json; return json.dumps(self.__dict__)
class Sq(JsonMixin, Shape):
    def __init__(self, s): self.s = s
    @property
    def area(self): return self.s ** 2
print(Sq(3).area, Sq(2).to_json(), Sq.__mro__[1].__name__, Sq.unit(), isinstance(Sq(1), Shape))
try:
    Shape()
except TypeError as e:
    print(e)

# --- xml and html
import xml.etree.ElementTree as ET, html
from html.parser import HTMLParser
root = ET.fromstring('<feed xmlns:x="urn:x"><item id="1"><title>A &amp; B</title></item><item id="2"><title>C</title></item></feed>')
print([(i.get("id"), i.findtext("title")) for i in root.iter("item")], root.find("./item[@id='2']/title").text, len(root.findall(".//title")))
e = ET.Element("r"); ET.SubElement(e, "c", a="1").text = "<t>"; ET.indent(e); print(ET.tostring(e, encoding="unicode"))
class Links(HTMLParser):
    def __init__(self): super().__init__(); self.links = []
    def handle_starttag(self, tag, attrs):
        if tag == "a": self.links.append(dict(attrs).get("href"))
p = Links(); p.feed('<p>x <a href="/a">A</a><a href="b?x=1&amp;y=2">B</a><br/>'); print(p.links, html.escape('<a "b">'), html.unescape("&lt;&eacute;&#39;"))
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as err:
    print(err)

# --- random access and bytes
import struct, base64, codecs, binascii
data = struct.pack("<IhQf", 1, -2, 3, 1.5); print(data.hex(), struct.unpack("<IhQf", data), struct.calcsize("!IH"))
print(base64.b64encode(b"hi?>").decode(), base64.urlsafe_b64encode(b"hi?>").decode(), base64.b64decode("aGk="), base64.b32encode(b"x"), base64.b85encode(b"abcd"), codecs.encode("hello", "rot13"), bytes.fromhex("6869"), b"a,b".split(b","), bytearray(b"abc")[::-1], int.from_bytes(b"\x01\x02", "big"), (258).to_bytes(2, "little"), b"%d-%s" % (5, b"x"), "é".encode(), memoryview(b"abcd")[1:3].tobytes(), b"\xff".decode("utf-8", "replace"), "ab".encode("utf-16-le"))
try:
    base64.b64decode("a")
except binascii.Error as e:
    print(e)
try:
    b"\xff".decode()
except UnicodeDecodeError as e:
    print(e)

# --- context managers
import contextlib, io, sys, time
@contextlib.contextmanager
def timed(label):
    print("start", label)
    try: yield lambda: label.upper()
    except ValueError as e: print("swallowed", e)
    finally: print("end", label)
with timed("a") as f:
    print(f()); raise ValueError("v")
with contextlib.suppress(KeyError), contextlib.redirect_stdout(io.StringIO()) as s:
    print("hidden"); {}["x"]
print(repr(s.getvalue()))
class CM:
    def __enter__(self): return self
    def __exit__(self, t, v, tb): print("exit", t and t.__name__); return True
with CM() as c: 1 / 0
with contextlib.ExitStack() as st: st.callback(print, "called"); st.enter_context(CM())
print(contextlib.nullcontext(5).__enter__(), contextlib.closing(io.StringIO("x")).thing.read())

# --- heaps and bisection
import heapq, bisect, queue
h = [5, 1, 4]; heapq.heapify(h); heapq.heappush(h, 0); print(heapq.heappop(h), heapq.nlargest(2, h), heapq.nsmallest(1, ["bb", "a"], key=len), list(heapq.merge([1, 4], [2, 3])), bisect.bisect_left([1, 3, 5], 3), bisect.bisect([1, 3, 5], 3))
a = [1, 5]; bisect.insort(a, 3); print(a, ["F", "D", "C", "B", "A"][bisect.bisect([60, 70, 80, 90], 85)])
q = queue.PriorityQueue(); q.put((2, "b")); q.put((1, "a")); print(q.get(), q.qsize(), q.empty())
graph = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 5}, "c": {"d": 1}, "d": {}}
dist, pq = {"a": 0}, [(0, "a")]
while pq:
    d, n = heapq.heappop(pq)
    for m, w in graph[n].items():
        if d + w < dist.get(m, 1e9): dist[m] = d + w; heapq.heappush(pq, (d + w, m))
print(dist)
import graphlib; print(list(graphlib.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}).static_order())[0])

# --- configuration
import configparser, tomllib, argparse, shlex, os, io
c = configparser.ConfigParser(); c.read_string("[db]\nhost = x\nport = 5432\n[paths]\nroot = /srv\nlogs = %(root)s/logs\n")
print(c["db"].getint("port"), c["paths"]["logs"], c.sections(), c.get("db", "none", fallback="f"))
print(tomllib.loads('title = "t"\n[a]\nlist = [1, 2.5, "x"]\nwhen = 2024-01-01\n[[b]]\nk = true\n'))
p = argparse.ArgumentParser(prog="tool"); p.add_argument("file"); p.add_argument("-n", "--num", type=int, default=3); p.add_argument("--flag", action="store_true"); sub = p.parse_args(["in.txt", "-n", "5", "--flag"])
print(sub, shlex.split('a "b c" d\\ e'), shlex.quote("a b"), os.environ.get("NOPE", "d"), os.getenv("NOPE"))
try:
    p.parse_args(["x", "-n", "abc"])
except SystemExit as e:
    print("exit", e.code)

# --- copying and comparing
import copy, operator
a = {"x": [1, {"y": 2}]}; b = copy.deepcopy(a); c = copy.copy(a); b["x"][1]["y"] = 3; c["x"].append(9)
print(a, b, a == c, a is c, operator.itemgetter("x")(a), operator.attrgetter("real")(5), operator.methodcaller("upper")("x"))
people = [{"n": "b", "a": 2}, {"n": "a", "a": 2}, {"n": "c", "a": 1}]
print(sorted(people, key=lambda p: (-p["a"], p["n"])), min(people, key=operator.itemgetter("a")), [*reversed([1, 2])], sorted("bAc", key=str.lower), sorted([3, 1], reverse=True), list(enumerate("ab", 1)), list(zip([1, 2], "ab", strict=True)), any([]), all([]), [1, 2] < [1, 3], (1, "a") < (1, "b"), list(map(lambda x, y: x + y, [1, 2], [3, 4])), list(filter(None, [0, 1, ""])))
first, *middle, last = range(5); print(first, middle, last, (lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=3, z=4), [x for x in range(10) if x % 3 == 0], (n := 5) + n, {**{"a": 1}, "b": 2}, 1 < 2 < 3, [[0] * 2 for _ in range(2)], list(range(10))[2:8:2], "abcdef"[::-1], not None or "x")

# --- time
import time
t = time.gmtime(0); print(time.strftime("%Y-%m-%d", t), t.tm_wday, time.time() > 1.7e9, time.perf_counter() >= 0, time.mktime(time.gmtime(86400)), time.asctime(t), time.strptime("2024-01-02", "%Y-%m-%d").tm_yday, time.monotonic_ns() > 0)
start = time.perf_counter(); time.sleep(0.01); print(0.005 < time.perf_counter() - start)
import calendar; print(calendar.monthrange(2024, 2), calendar.isleap(2100), calendar.month_name[3], calendar.timegm(t)); print(calendar.month(2024, 2))

# --- uuid, secrets, ipaddress
import uuid, secrets, ipaddress
print(uuid.uuid5(uuid.NAMESPACE_DNS, "x.org"), len(str(uuid.uuid4())), uuid.UUID("12345678123456781234567812345678").hex[:8], len(secrets.token_hex(8)), secrets.choice([1]), len(secrets.token_urlsafe(16)), len({uuid.uuid4() for _ in range(50)}))
n = ipaddress.ip_network("10.0.0.0/29"); print(n.num_addresses, [str(h) for h in n.hosts()][:2], ipaddress.ip_address("10.0.0.3") in n, ipaddress.ip_address("::1").is_loopback)

# --- threads of thought that run in line
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(max_workers=4) as ex:
    print(list(ex.map(lambda x: x * x, range(5))))
    futures = {ex.submit(pow, n, 2): n for n in (1, 2, 3)}
    print(sorted((futures[f], f.result()) for f in as_completed(futures)))
    f = ex.submit(lambda: 1 / 0)
    print(type(f.exception()).__name__, f.done())

# --- locks without threads
import threading, contextvars
lock = threading.Lock(); cv = contextvars.ContextVar("cv", default=1)
with lock: print(lock.locked(), threading.current_thread().name, threading.active_count())
token = cv.set(2); print(cv.get()); cv.reset(token); print(cv.get(), contextvars.copy_context().run(lambda: cv.get()))
local = threading.local(); local.x = 5; print(local.x, threading.Event().is_set(), threading.RLock().acquire())

# --- weak references and memory
import weakref, gc, sys
class N: pass
n = N(); r = weakref.ref(n); d = weakref.WeakValueDictionary(); d["n"] = n
print(r() is n, len(d)); del n; gc.collect(); print(r(), len(d), sys.getsizeof([]) > 0, sys.maxsize > 2**30, sys.version_info >= (3, 11), sys.byteorder, sys.getrecursionlimit() > 100)
weakref.finalize(N(), print, "finalized")

# --- introspection
import inspect, dis, ast, types
def f(a, b=2, *args, c: int = 3, **kw) -> str: "doc"; return str(a)
print(inspect.signature(f), inspect.signature(f).parameters["c"].default, f.__defaults__, f.__kwdefaults__, inspect.getdoc(f), inspect.isfunction(f), callable(f), f.__code__.co_varnames[:2])
tree = ast.parse("x = 1 + 2 * y"); print(ast.dump(tree.body[0].value, indent=None)[:40], ast.unparse(tree), ast.literal_eval("{'a': [1, (2,)]}"), eval("1+1", {"__builtins__": {}}))
ns = {}; exec("def g(x): return x + 1", ns); print(ns["g"](1), types.SimpleNamespace(a=1), getattr(ns["g"], "__name__"), hasattr(1, "real"), type("Dyn", (), {"v": 3})().v, isinstance(True, int), dir(types.SimpleNamespace(z=1))[-1])

# --- mocking the network
from unittest import mock, TestCase
import unittest, io
class Client:
    def get(self, url): raise RuntimeError("no network")
def load(c): return c.get("u")["v"]
with mock.patch.object(Client, "get", return_value={"v": 7}) as m:
    print(load(Client()), m.call_count, m.call_args)
mm = mock.MagicMock(side_effect=[1, ValueError("x")]); print(mm())
try: mm()
except ValueError as e: print("raised", e)
class T(TestCase):
    def test_ok(self): self.assertEqual(1, 1); self.assertIn("a", "abc")
    def test_bad(self): self.assertAlmostEqual(1, 1.1)
    def test_raises(self):
        with self.assertRaisesRegex(ValueError, "bo+m"): raise ValueError("booom")
r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)); print(r.testsRun, len(r.failures))
import doctest
def sq(x):
    """
    >>> sq(3)
    9
    """
    return x * x
print(doctest.run_docstring_examples(sq, {"sq": sq}))

# --- email and mime
from email.message import EmailMessage
from email import message_from_string
import mimetypes
m = EmailMessage(); m["Subject"] = "Grüße"; m["To"] = "a@x.org"; m.set_content("Hello"); m.add_attachment(b"data", maintype="application", subtype="octet-stream", filename="f.bin")
p = message_from_string("Subject: =?utf-8?b?R3LDvMOfZQ==?=\nTo: b@y.org\n\nBody"); from email.header import decode_header, make_header
print(m["Subject"], m.is_multipart(), [x.get_content_type() for x in m.walk()], str(make_header(decode_header(p["Subject"]))), p.get_payload(), mimetypes.guess_type("a.json")[0])

# --- pickles and shelves
import pickle, shelve, marshal, os
class Pt:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return self.x == o.x
import sys; sys.modules["__main__"].Pt = Pt
print(pickle.loads(pickle.dumps({"a": [1, (2, {3})], "b": None})), pickle.loads(pickle.dumps([1, 2], protocol=2)), marshal.loads(marshal.dumps({"x": 1})))

# --- matrices and primes
def matmul(a, b): return [[sum(x * y for x, y in zip(r, c)) for c in zip(*b)] for r in a]
def sieve(n):
    s = bytearray([1]) * (n + 1); s[:2] = b"\0\0"
    for i in range(2, int(n ** .5) + 1):
        if s[i]: s[i * i::i] = bytes(len(s[i * i::i]))
    return [i for i, v in enumerate(s) if v]
print(matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]]), sieve(50)[-3:], len(sieve(10000)), [*zip(*[[1, 2, 3], [4, 5, 6]])], sum(divmod(10 ** 18, 7)))
memo = {}
def lcs(a, b):
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b): t[i + 1][j + 1] = t[i][j] + 1 if x == y else max(t[i][j + 1], t[i + 1][j])
    return t[-1][-1]
print(lcs("AGGTAB", "GXTXAYB"))

# --- markdown report
rows = [{"name": "Ann", "age": 31, "city": None}, {"name": "Bo", "age": 4, "city": "Rome"}]
cols = list(rows[0]); width = {c: max(len(c), *(len(str(r[c])) for r in rows)) for c in cols}
print("| " + " | ".join(c.ljust(width[c]) for c in cols) + " |"); print("|" + "|".join("-" * (width[c] + 2) for c in cols) + "|")
for r in rows: print("| " + " | ".join(f"{str(r[c]):<{width[c]}}" for c in cols) + " |")
print(f"{'Total':>10}: {sum(r['age'] for r in rows)}", *sorted({c for r in rows for c in r}), sep="\n")

# --- printing
import sys
print("a", "b", sep="-", end="!\n"); print(*[1, 2], sep="\n"); print([1.0, "x", None, True, {"k": (1,)}, {1}, b"b", 1j, range(3), ...], {"n": {"m": []}}); print(repr("it's \"q\"\n\t\\"), str(b"\x00\xff"), ascii("é")); sys.stdout.write("w\n"); print(print, len, type(1), object, sep="\n", file=sys.stderr); print("", end=""); print("flush", flush=True); print(set(), frozenset([1]), {}, (), [[]], 1e-7, 1e16, -0.0, float("nan"), 10 ** 15 * 1.0)

# --- exit by an error
def f():
    raise LookupError("not here")
f()
