# --- json
import json
print(json.dumps({"b": [1, 2.5, None, True], "a": "é\n"}), json.dumps([1, {"a": 2}], indent=2), json.dumps({"b": 1, "a": 2}, sort_keys=True, separators=(",", ":")))
# --- json reading
import json
print(json.loads('{"a": [1, 2.0, "x", null, true], "b": {"c": -1e5}}'), json.loads('"\\u00e9\\ud83d\\ude00"'), json.loads(" 12345678901234567890 "))
# --- json error
import json
json.loads("{'a': 1}")
# --- json of a set
import json
json.dumps({1, 2})
# --- json class
import json
class E(json.JSONEncoder):
    def default(self, o): return list(o)
print(json.dumps({"a": {3}}, cls=E), json.dumps({2: 1}), json.dumps("</é>", ensure_ascii=False))
# --- json hooks
import json
print(json.loads('{"a": 1.5}', parse_float=str), json.loads('{"a": {"b": 1}}', object_hook=lambda d: list(d)), json.JSONDecoder().raw_decode('[1] x'))
# --- regex
import re
print(re.findall(r"\d+", "a1b22"), re.sub(r"(\w)(\d)", r"\2\1", "a1 b2"), re.split(r"[,;]\s*", "a, b;c"), re.match(r"(?P<y>\d{4})-(\d\d)", "2026-01").groupdict(), re.search("x", "abc"))
# --- regex more
import re
m = re.search(r"(a+)(b*)", "xaab")
print(m.group(), m.groups(), m.span(1), m.start(), re.fullmatch(r"[a-z]+", "abc1"), re.compile(r"A", re.I).sub(lambda m: m[0] * 2, "aA"), re.escape("a.b*"), [x.group() for x in re.finditer(r"\b\w", "hi yo")])
# --- regex features
import re
print(re.findall(r"(?<=\$)\d+(?!\d)", "$12 $3"), re.sub(r"(?m)^", "> ", "a\nb"), re.findall(r"(?s)a.b", "a\nb"), re.findall(r"(?x) a  b # c", "ab"), re.findall(r"(a)|(b)", "ab"), re.match(r"(?:a|b)++c", "abc") is not None, re.findall(r"\w+", "né ß"))
# --- regex error
import re
re.compile("(")
# --- datetime
from datetime import datetime, date, timedelta, timezone, time
d = datetime(2026, 2, 28, 23, 59, 30)
print(d + timedelta(days=1, seconds=45), d.isoformat(), d.strftime("%Y/%m/%d %H:%M:%S %a %b %j"), d.weekday(), d.date(), d.replace(year=2024) + timedelta(days=1), (date(2026, 3, 1) - date(2024, 2, 28)).days)
# --- datetime parsing
from datetime import datetime, timezone, timedelta
print(datetime.strptime("2026-01-02 03:04", "%Y-%m-%d %H:%M"), datetime.fromisoformat("2026-01-02T03:04:05+02:00").astimezone(timezone.utc), datetime.fromisoformat("2026-01-02T03:04:05Z"), datetime.fromtimestamp(0, timezone.utc), datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp())
# --- datetime bad
from datetime import datetime
datetime.strptime("x", "%Y")
# --- datetime range
from datetime import date
date(2026, 2, 30)
# --- timedelta
from datetime import timedelta
t = timedelta(days=1, hours=2.5)
print(t, t.total_seconds(), t // timedelta(hours=1), t * 2, -t, timedelta(seconds=-1), t / 2, divmod(t, timedelta(hours=3)))
# --- calendars
import calendar
print(calendar.monthrange(2024, 2), calendar.isleap(2100), calendar.day_name[0], calendar.month(2026, 2))
# --- isocalendar
from datetime import date
print(date(2026, 1, 1).isocalendar(), date.fromisocalendar(2026, 1, 1), date(2026, 12, 31).strftime("%V %U %A %B"), date(2026, 5, 4).ctime())
# --- weeks of commits
from datetime import datetime
from collections import Counter
ds = ["2026-01-01T10:00:00Z", "2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z"]
print(Counter(datetime.fromisoformat(d).strftime("%G-W%V") for d in ds))
# --- csv
import csv, io
f = io.StringIO()
w = csv.DictWriter(f, ["a", "b"])
w.writeheader()
w.writerow({"a": 'x,"y"', "b": 1})
print(repr(f.getvalue()), list(csv.reader(["a,b", '"x ""q""",2'])), list(csv.DictReader(["k,v", "1,2"])), csv.Sniffer().sniff("a;b\nc;d").delimiter)
# --- io
import io
f = io.StringIO("a\nb\nc")
print(f.readline(), f.read(), f.seek(0), list(f), io.BytesIO(b"xyz").read(2), io.TextIOWrapper(io.BytesIO(b"a\r\nb"), newline=None).read())
# --- temporary files
import os, tempfile
d = tempfile.mkdtemp(dir="/tmp")
p = os.path.join(d, "f.txt")
with open(p, "w") as f:
    f.write("one\ntwo\n")
with open(p, "a") as f:
    print("three", file=f)
with open(p) as f:
    print(f.readlines(), f.closed)
print(os.path.getsize(p), os.listdir(d), os.path.exists(p), os.path.isdir(d))
os.remove(p)
os.rmdir(d)
# --- pathlib
from pathlib import Path, PurePosixPath
import tempfile
d = Path(tempfile.mkdtemp(dir="/tmp"))
(d / "a.txt").write_text("hi")
(d / "sub").mkdir()
print(sorted(p.name for p in d.iterdir()), (d / "a.txt").read_text(), (d / "a.txt").suffix, (d / "a.txt").stem, PurePosixPath("/a/b/../c").parts, Path("a") / "b", (d / "x").exists(), [p.name for p in d.glob("*.txt")])
import shutil
shutil.rmtree(d)
# --- missing file
open("/tmp/not-there-at-all")
# --- os.path
import os.path as p
print(p.join("a", "b"), p.basename("/x/y.z"), p.dirname("/x/y"), p.splitext("a.tar.gz"), p.normpath("/a/./b/../c"), p.relpath("/a/b", "/a/c"), p.isabs("x"), p.commonpath(["/a/b", "/a/c"]), p.expanduser("x"))
# --- urllib.parse
from urllib.parse import urlparse, urlencode, quote, unquote, parse_qs, urljoin, urlunsplit, parse_qsl
print(urlparse("https://u:p@h.com:8080/p;x?q=1#f"), urlencode({"a": 1, "b": "x y", "c": ["1", "2"]}, doseq=True), quote("a b/é"), unquote("%C3%A9+"), parse_qs("a=1&a=2&b="), urljoin("http://a/b/c", "../d"), parse_qsl("x=%20"))
# --- uuid
import uuid
print(uuid.uuid5(uuid.NAMESPACE_DNS, "x.org"), uuid.UUID("12345678123456781234567812345678"), uuid.uuid4().version, uuid.UUID(int=5).hex)
# --- xml
import xml.etree.ElementTree as ET
r = ET.fromstring("<a x='1'><b>t</b><b/>tail</a>")
r.append(ET.Element("c", y="2"))
print(r.tag, r.attrib, [b.text for b in r.findall("b")], r.find("c").get("y"), ET.tostring(r), r[1].tail)
# --- xml error
import xml.etree.ElementTree as ET
ET.fromstring("<a><b></a>")
# --- html parser
from html.parser import HTMLParser
class P(HTMLParser):
    def handle_starttag(self, t, a): print("start", t, a)
    def handle_data(self, d): print("data", repr(d))
P().feed("<p class='x'>a &amp; b<br></p>")
# --- sqlite
import sqlite3
c = sqlite3.connect(":memory:")
c.row_factory = sqlite3.Row
c.executescript("create table t(a integer primary key, b text); insert into t values (1,'x'),(2,'y');")
c.executemany("insert into t(b) values (?)", [("z",), (None,)])
print([tuple(r) for r in c.execute("select * from t where b > ? order by a desc", ("w",))], c.execute("select count(*), max(b), group_concat(b) from t").fetchone()[:], c.execute("select json_extract('{\"a\": 5}', '$.a')").fetchone()[0])
# --- sqlite windows
import sqlite3
c = sqlite3.connect(":memory:")
print(c.execute("with recursive n(i) as (select 1 union all select i+1 from n where i<5) select i, sum(i) over (order by i) from n").fetchall())
# --- sqlite functions
import sqlite3
c = sqlite3.connect(":memory:")
c.create_function("twice", 1, lambda x: x * 2)
print(c.execute("select twice(21), upper('a'), round(2.567, 2), sqrt(16), date('2026-01-31', '+1 month')").fetchone())
# --- sqlite full text
import sqlite3
c = sqlite3.connect(":memory:")
c.execute("create virtual table d using fts5(t)")
c.executemany("insert into d values (?)", [("hello world",), ("goodbye moon",)])
print(c.execute("select t from d where d match 'moon'").fetchall())
# --- sqlite error
import sqlite3
sqlite3.connect(":memory:").execute("select * from nope")
# --- zlib and bz2
import zlib, bz2, gzip
d = b"abc" * 100
print(zlib.decompress(zlib.compress(d)) == d, bz2.decompress(bz2.compress(d)) == d, gzip.decompress(gzip.compress(d)) == d, zlib.adler32(d), zlib.compress(b"x" * 50, 9).hex())
# --- zipfile and tarfile
import zipfile, tarfile, io
f = io.BytesIO()
with zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/b.txt", "hello")
with zipfile.ZipFile(f) as z:
    print(z.namelist(), z.read("a/b.txt"))
t = io.BytesIO()
with tarfile.open(fileobj=t, mode="w:gz") as a:
    i = tarfile.TarInfo("x")
    i.size = 2
    a.addfile(i, io.BytesIO(b"hi"))
t.seek(0)
with tarfile.open(fileobj=t) as a:
    print(a.getnames(), a.extractfile("x").read())
# --- pickle
import pickle
d = {"a": [1, (2, 3)], "s": {4}, "f": 1.5, "b": b"x", "n": None}
print(pickle.loads(pickle.dumps(d)) == d, pickle.loads(pickle.dumps(d, 0)) == d)
# --- logging
import logging, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
logging.info("x %s", 1)
logging.debug("no")
logging.getLogger("a.b").warning("w")
# --- argparse
import argparse
p = argparse.ArgumentParser()
p.add_argument("f")
p.add_argument("-n", type=int, default=1)
p.add_argument("--v", action="store_true")
print(p.parse_args(["x", "-n", "5", "--v"]))
# --- configparser and tomllib
import configparser, tomllib
c = configparser.ConfigParser()
c.read_string("[a]\nx = 1\ny: two")
print(c["a"]["y"], c.getint("a", "x"), tomllib.loads("a = 1\n[b]\nc = [1, 'x']\nd = 2026-01-02"))
# --- shlex and fnmatch
import shlex, fnmatch, glob
print(shlex.split("a 'b c' \"d\""), shlex.quote("a b"), fnmatch.fnmatch("a.py", "*.py"), fnmatch.filter(["a", "b"], "[!a]"))
# --- timeit of nothing
import time
t = time.perf_counter()
print(time.perf_counter() >= t, time.time() > 1.6e9, time.strftime("%Y", time.gmtime(0)), time.gmtime(86400)[:3])
# --- zoneinfo
from zoneinfo import ZoneInfo, available_timezones
from datetime import datetime, timedelta
d = datetime(2026, 3, 29, 0, 30, tzinfo=ZoneInfo("UTC"))
print(d.astimezone(ZoneInfo("Europe/Berlin")), (d + timedelta(hours=1)).astimezone(ZoneInfo("Europe/Berlin")).isoformat(), datetime(2026, 7, 1, tzinfo=ZoneInfo("America/New_York")).tzname(), "Asia/Tokyo" in available_timezones())
# --- zone unknown
from zoneinfo import ZoneInfo
ZoneInfo("Nowhere/City")
# --- secrets
import secrets
print(len(secrets.token_hex(8)), secrets.choice([5]), secrets.compare_digest("a", "a"), 0 <= secrets.randbelow(3) < 3)
# --- ast
import ast
print(ast.literal_eval("{'a': [1, (2,), None, -1.5]}"), ast.dump(ast.parse("x + 1", mode="eval")), ast.unparse(ast.parse("if a:\n  b = [i for i in c]")))
# --- literal eval refuses
import ast
ast.literal_eval("__import__('os')")
# --- dis and tokenize
import tokenize, io, token
print([token.tok_name[t.type] for t in tokenize.generate_tokens(io.StringIO("x = 1\n").readline)])
# --- contextvars
import contextvars
v = contextvars.ContextVar("v", default=0)
t = v.set(5)
print(v.get(), contextvars.copy_context()[v])
v.reset(t)
print(v.get())
# --- queue
import queue
q = queue.PriorityQueue()
for x in (3, 1, 2): q.put(x)
print([q.get() for _ in range(3)], q.empty(), queue.Queue(1).full())
# --- queue empty
import queue
queue.Queue().get_nowait()
# --- threading locks
import threading
l = threading.RLock()
with l:
    with l:
        print("in", threading.current_thread().name, threading.active_count())
e = threading.Event()
print(e.is_set(), e.wait(0.01), threading.local() is not None)
# --- sys
import sys
print(sys.version_info >= (3, 11), sys.maxsize > 0, sys.byteorder, sys.getsizeof([]) > 0, sys.implementation.name, sys.intern("a") is sys.intern("a"))
# --- email
from email.message import EmailMessage
from email.utils import parseaddr, formatdate
m = EmailMessage()
m["Subject"] = "Hé"
m["To"] = "a@b.c"
m.set_content("body")
print(m.as_string(), parseaddr("X <x@y.z>"), formatdate(0))
# --- mimetypes and quopri
import mimetypes, quopri
print(mimetypes.guess_type("a.json"), quopri.encodestring("é=".encode()))
# --- ipaddress
import ipaddress as ip
print(ip.ip_address("10.0.0.1") in ip.ip_network("10.0.0.0/8"), list(ip.ip_network("192.168.0.0/30").hosts()), ip.ip_address("::1").is_loopback)
# --- unittest
import unittest, io
class T(unittest.TestCase):
    def test_a(self): self.assertEqual(1, 1)
    def test_b(self): self.assertTrue(False)
r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
print(r.testsRun, len(r.failures))
# --- mock
from unittest.mock import Mock, patch, MagicMock
m = Mock(return_value=3)
print(m(1, a=2), m.call_args, m.called)
with patch("os.getcwd", return_value="/x"):
    import os
    print(os.getcwd())
# --- cprofile-like timing
import timeit
print(timeit.timeit("1+1", number=10) >= 0)
# --- colorsys and bisect
import colorsys, cmath
print(colorsys.rgb_to_hsv(1, 0, 0), colorsys.hls_to_rgb(0.5, 0.5, 1))
# --- locale and gettext
import locale, gettext
print(gettext.gettext("x"), locale.strcoll("a", "b") < 0)
# --- platform
import platform, os
print(platform.python_implementation(), os.sep, os.linesep == "\n", os.name)
# --- shelve-like dbm is not needed
import sched, time
s = sched.scheduler(time.monotonic, time.sleep)
s.enter(0.01, 1, print, ("late",))
s.enter(0, 1, print, ("soon",))
s.run()
# --- linecache and code
import code, codeop
print(codeop.compile_command("if 1:") is None)
# --- encodings
print("ab".encode("rot13") if False else __import__("codecs").encode("ab", "rot13"), "é".encode("cp437"), b"+AOk-".decode("utf-7"), "a".encode("utf-32-be"), "ü".encode("idna") if False else "bücher".encode("punycode"))
# --- numbers in text
print(f"{1e6:,.0f}", f"{1234.5:e}", f"{0.000123:.3g}", f"{255:#o}", f"{-1:05d}", f"{3:.0%}", "{:>10.3s}|".format("abcdef"), f"{10**21:_}")
