# --- upper and lower
print("Straße".upper(), "İ".lower().encode(), "ǅ".title(), "abc".capitalize(), "aBc".swapcase())
# --- casefold
print("Straße".casefold() == "STRASSE".casefold())
# --- split
print("a b  c".split(), "a,b,,c".split(","), "a b c d".split(" ", 2), "a b c d".rsplit(" ", 1))
# --- splitlines
print("a\nb\r\nc\u2028d\x85e".splitlines(), "a\n".splitlines(True))
# --- partition
print("k=v=w".partition("="), "k=v=w".rpartition("="), "x".partition("="))
# --- strip
print(repr("  x\t\n".strip()), "xxabcxx".strip("x"), "prefix_a".removeprefix("prefix_"), "a.py".removesuffix(".py"))
# --- find
print("banana".find("an"), "banana".rfind("an"), "banana".index("na", 3), "banana".count("a"))
# --- index error
"abc".index("z")
# --- replace
print("banana".replace("a", "o", 2), "aaa".replace("", "-"))
# --- format numbers
print(f"{3.14159:.2f} {1234567:,} {255:#x} {255:08b} {0.5:%} {1e10:g} {-5:+d} {42:>6}|{42:<6}|{42:^6}|{42:*^6}")
# --- format nested
w = 8
print(f"{'x':>{w}} {3.14159:{w}.{2}f} {'a' + 'b'!r} {w=} {w!s:>3}")
# --- format method
print("{0} {1} {0} {name} {lst[1]} {obj.real}".format("a", "b", name="n", lst=[1, 2], obj=5))
# --- percent
print("%s %d %5.1f %x %r %% %-5s| %05d" % ("s", 3, 2.55, 255, "q", "ab", 42))
# --- percent dict
print("%(a)s %(b)03d" % {"a": 1, "b": 2})
# --- translate
print("hello".translate(str.maketrans("el", "ip", "o")), "abc".translate({97: "A", 98: None}))
# --- join and repeat
print("-".join(map(str, range(5))), "ab" * 3, "x" * 0)
# --- predicates
print("123".isdigit(), "²".isdigit(), "½".isnumeric(), "a1".isalnum(), "Ab".istitle(), " ".isspace(), "x_1".isidentifier(), "".isascii())
# --- zfill and justify
print("42".zfill(5), "-42".zfill(5), "a".ljust(3, "."), "a".rjust(3, "."), "a".center(4, "."))
# --- slices
s = "abcdefgh"
print(s[2:5], s[::-1], s[-3:], s[::2], s[10:], s[-100:2])
# --- unicode
print(len("😀é"), "😀"[0], "é".encode(), b"\xc3\xa9".decode(), "\N{SNOWMAN}", ascii("é😀"))
# --- normalise
import unicodedata
print(unicodedata.normalize("NFD", "é") == "e\u0301", unicodedata.name("€"), unicodedata.category("A"))
# --- encode errors
print("é".encode("ascii", "replace"), "é".encode("ascii", "xmlcharrefreplace"), "é".encode("ascii", "backslashreplace"), b"\xff".decode("utf-8", "replace"))
# --- encode strict
"é".encode("ascii")
# --- codecs
print("abc".encode("utf-16-le"), "é".encode("latin-1"), "日本".encode("shift_jis"), "Привет".encode("cp1251"), "中".encode("gbk"))
# --- expandtabs
print("a\tb\tc".expandtabs(4))
# --- startswith tuple
print("file.py".endswith((".py", ".txt")), "abc".startswith("b", 1))
# --- comparisons
print("a" < "B", sorted(["b", "A", "a", "B"]), max("hello"), min("hello"))
# --- textwrap
import textwrap
print(textwrap.fill("the quick brown fox jumps over the lazy dog", 20))
print(textwrap.dedent("  a\n    b\n  c"), textwrap.shorten("hello big world", 12), textwrap.indent("a\nb", "> "))
# --- template
from string import Template, ascii_letters, punctuation
print(Template("$who likes ${what} $$").substitute(who="x", what="y"), len(ascii_letters), punctuation)
# --- template missing
from string import Template
Template("$a").substitute()
# --- bytes
b = b"hello"
print(b[0], b[1:3], b.hex(), bytes.fromhex("ff 00"), b.find(b"l"), b.replace(b"l", b"L"), bytes([1, 2]), bytes(3))
# --- bytearray
x = bytearray(b"abc")
x[0] = 90
x.extend(b"de")
del x[1]
print(x, x.pop(), bytes(x), x.upper())
# --- memoryview
m = memoryview(bytearray(b"abcdef"))
m[1:3] = b"XY"
print(m.tobytes(), m[::2].tolist(), m.nbytes, m.cast("H").shape)
# --- str of things
print(str(1.0), str(None), repr("a'b"), repr('a"b\''), repr("\x00\n\t\\"), str(b"x"), repr(1e16), repr(1e-5))
# --- int parsing
print(int("  42 "), int("ff", 16), int("0b11", 0), int("1_000"), int("-7"), float("1e3"), float("inf"), complex("1+2j"))
# --- int parsing error
int("4x")
# --- difflib
import difflib
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]), list(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")))
# --- html
import html
print(html.escape("<a href='x'>&"), html.unescape("&lt;&eacute;&#x41;&amp;"))
# --- base64
import base64
print(base64.b64encode(b"hi\xff"), base64.urlsafe_b64decode("aGn_"), base64.b32encode(b"x"), base64.b85encode(b"hello"), base64.b16encode(b"z"))
# --- hashlib
import hashlib, hmac, zlib, binascii
print(hashlib.md5(b"x").hexdigest(), hashlib.sha256(b"x").hexdigest(), hashlib.sha1(b"").hexdigest(), hashlib.blake2b(b"x", digest_size=8).hexdigest())
print(hashlib.sha3_256(b"x").hexdigest(), hashlib.sha512(b"x").hexdigest()[:20], hmac.new(b"k", b"m", "sha256").hexdigest(), zlib.crc32(b"x"), binascii.hexlify(b"ab"))
# --- pbkdf2
import hashlib
print(hashlib.pbkdf2_hmac("sha256", b"p", b"s", 10).hex()[:16])
