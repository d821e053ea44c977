# --- division
print(7 // 2, -7 // 2, 7 % -3, -7 % 3, divmod(-7, 2), 7 / 2, 2 ** -1, 0 ** 0, 7.5 // 2)
# --- zero division
1 // 0
# --- float zero division
1.0 / 0
# --- big integers
print(2 ** 200, 3 ** 100 % 1000007, pow(3, 100, 1000007), (10 ** 30) // 7, -(10 ** 20) % 13, pow(3, -1, 7))
# --- bits
print(5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 70, -9 >> 1, (255).bit_length(), (255).bit_count(), (1000).to_bytes(2, "big"), int.from_bytes(b"\x03\xe8", "little", signed=True))
# --- factorial digits
import math
print(math.factorial(50), sum(map(int, str(math.factorial(100)))))
# --- too many digits
str(10 ** 5000)
# --- floats
print(0.1 + 0.2, 1e308 * 10, -1e308 * 10, float("nan") == float("nan"), 1.5.is_integer(), (2.5).as_integer_ratio(), 0.1.hex(), float.fromhex("0x1p-2"))
# --- rounding
print(round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1234, -2), round(1.5), math.floor(-1.5) if False else 0)
# --- repr of floats
print(1e15, 1e16, 1e17, 123456789.123456789, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, 100.0, -0.0)
# --- math
import math
print(math.sqrt(2), math.gcd(12, 18, 8), math.lcm(4, 6), math.comb(10, 3), math.perm(5, 2), math.isqrt(99), math.hypot(3, 4), math.prod([1, 2, 3]), math.dist([0, 0], [3, 4]))
# --- math more
import math
print(math.floor(-1.5), math.ceil(-1.5), math.trunc(-1.5), math.fsum([0.1] * 10), math.isclose(0.1 + 0.2, 0.3), math.copysign(1, -0.0), math.frexp(8), math.ldexp(0.5, 4), math.modf(2.5), math.nextafter(1, 2), math.ulp(1.0))
# --- trigonometry
import math
print([round(f(1), 12) for f in (math.sin, math.cos, math.tan, math.asin, math.atan, math.sinh, math.exp, math.log, math.log2, math.log10, math.gamma, math.erf)])
# --- domain error
import math
math.sqrt(-1)
# --- overflow
import math
math.exp(1000)
# --- complex
print((1 + 2j) * (3 - 1j), abs(3 + 4j), (1 + 2j).conjugate(), (2j) ** 2, complex("1j"), 1j == 1j)
# --- cmath
import cmath
print(cmath.sqrt(-1), round(cmath.phase(1j), 6))
# --- decimal
from decimal import Decimal, getcontext, ROUND_HALF_UP
print(Decimal("0.1") + Decimal("0.2"), Decimal("1") / 3, Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), Decimal("1E+3"), Decimal("-0"), Decimal(1.1))
# --- decimal context
from decimal import Decimal, localcontext
with localcontext() as c:
    c.prec = 5
    print(Decimal(2).sqrt(), Decimal(1) / 7)
print(Decimal(2).sqrt(), Decimal("1.50").normalize(), Decimal("123").as_tuple(), f"{Decimal('1234.5'):,.2f}")
# --- decimal error
from decimal import Decimal
Decimal("x")
# --- fractions
from fractions import Fraction
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), Fraction(3.5), Fraction(22, 7).limit_denominator(3), Fraction(1, 3) < 0.34)
# --- statistics
import statistics as s
d = [2, 4, 4, 4, 5, 5, 7, 9]
print(s.mean(d), s.median(d), s.mode(d), s.pstdev(d), s.variance(d), s.quantiles(d, n=4), s.fmean(d), s.multimode("aabb"), s.harmonic_mean([40, 60]))
# --- correlation
import statistics as s
print(s.correlation([1, 2, 3], [1, 2, 3.5]), s.linear_regression([1, 2, 3], [2, 4, 6]), s.NormalDist(0, 1).cdf(0))
# --- seeded random
import random
r = random.Random(42)
print(r.random(), r.randint(1, 100), r.choice("abc"), r.sample(range(100), 3), r.shuffle(x := [1, 2, 3, 4]), x, r.gauss(0, 1), r.uniform(1, 2), r.choices("ab", [1, 9], k=4))
# --- seeded by text
import random
random.seed("text")
print(random.random(), random.getrandbits(64), random.randbytes(4), random.expovariate(1), random.triangular(0, 1, 0.5))
# --- numbers abc
import numbers
print(isinstance(1, numbers.Integral), isinstance(1.0, numbers.Rational), issubclass(bool, int), True + True)
# --- sum and any
print(sum([1, 2], 10), sum([[1], [2]], []), any([]), all([]), min(3, 1, 2), max([1, 5], key=lambda x: -x), min([], default=0), abs(-3))
# --- conversions
print(int(3.9), int(-3.9), bool("False"), bin(10), oct(8), hex(-255), chr(8364), ord("€"), float(10), int(True))
# --- integer caches
a = 256
b = 257
print(a is 256 + 0, b == 256 + 1, hash(1) == hash(1.0) == hash(True), hash(2 ** 61 - 1))
# --- fibonacci
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
print(fib(10), fib(100), fib(300))
# --- primes
def primes(n):
    sieve = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** .5) + 1):
        if sieve[i]:
            sieve[i * i::i] = bytes(len(sieve[i * i::i]))
    return [i for i in range(2, n + 1) if sieve[i]]
print(primes(60), len(primes(20000)))
# --- matrices
a = [[1, 2], [3, 4]]
print([[sum(x * y for x, y in zip(r, c)) for c in zip(*a)] for r in a], list(map(list, zip(*a))))
# --- collatz
n, steps = 27, 0
while n != 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
    steps += 1
print(steps)
# --- bisect and heap
import bisect, heapq
x = [1, 3, 5]
bisect.insort(x, 4)
h = [5, 1, 4]
heapq.heapify(h)
print(x, bisect.bisect_left(x, 3), bisect.bisect(x, 3), heapq.heappop(h), heapq.nlargest(2, [1, 9, 5]), heapq.nsmallest(2, [3, 1, 2]), list(heapq.merge([1, 4], [2, 3])))
# --- struct
import struct
print(struct.pack("<IhB", 1, -2, 3), struct.unpack(">2H", b"\x00\x01\x00\x02"), struct.calcsize("!IQ"), struct.pack("f", 1.5), list(struct.iter_unpack("B", b"ab")))
# --- array
import array
a = array.array("d", [1.5, 2])
a.append(3)
print(a, a.tobytes()[:8], a.itemsize, sum(a), array.array("B", b"xy").tolist())
