# --- closures
def counter():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
c = counter()
print(c(), c(), [f() for f in [lambda i=i: i for i in range(3)]], [f() for f in [lambda: i for i in range(3)]])
# --- arguments
def f(a, /, b, *args, c=3, **kw):
    return a, b, args, c, kw
print(f(1, 2), f(1, 2, 3, 4, c=5, d=6), f(1, b=2), f(*[1, 2], **{"c": 9}))
# --- missing argument
def f(a, b): pass
f(1)
# --- unexpected keyword
def f(a): pass
f(1, c=2)
# --- mutable default
def f(x, acc=[]):
    acc.append(x)
    return acc
print(f(1), f(2), f.__defaults__)
# --- unbound local
x = 1
def f():
    print(x)
    x = 2
f()
# --- name error
print(undefined_name)
# --- recursion
def hanoi(n, a, b, c):
    return 0 if n == 0 else hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
print(hanoi(8, "a", "b", "c"))
# --- recursion limit
def f(): return f()
try:
    f()
except RecursionError as e:
    print(type(e).__name__)
# --- classes
class A:
    count = 0
    def __init__(self, x):
        self.x = x
        A.count += 1
    def __repr__(self):
        return f"A({self.x})"
    def __eq__(self, o):
        return self.x == o.x
    def __lt__(self, o):
        return self.x < o.x
    def __hash__(self):
        return hash(self.x)
print(A(1), A(1) == A(1), sorted([A(3), A(2)]), A.count, {A(1), A(1)}, vars(A(5)))
# --- inheritance
class A:
    def f(self): return "A"
class B(A):
    def f(self): return "B" + super().f()
class C(A):
    def f(self): return "C" + super().f()
class D(B, C):
    def f(self): return "D" + super().f()
print(D().f(), [k.__name__ for k in D.__mro__])
# --- properties
class T:
    def __init__(self): self._v = 0
    @property
    def v(self): return self._v
    @v.setter
    def v(self, x): self._v = x * 2
    @staticmethod
    def s(): return "s"
    @classmethod
    def c(cls): return cls.__name__
t = T()
t.v = 4
print(t.v, T.s(), T.c())
# --- property without setter
class T:
    @property
    def v(self): return 1
T().v = 2
# --- dunder methods
class V:
    def __init__(s, *a): s.a = a
    def __add__(s, o): return V(*(x + y for x, y in zip(s.a, o.a)))
    def __mul__(s, k): return V(*(x * k for x in s.a))
    __rmul__ = __mul__
    def __getitem__(s, i): return s.a[i]
    def __len__(s): return len(s.a)
    def __iter__(s): return iter(s.a)
    def __contains__(s, x): return x in s.a
    def __call__(s): return "called"
    def __bool__(s): return any(s.a)
    def __neg__(s): return s * -1
    def __format__(s, spec): return f"<{spec}>"
    def __enter__(s): return s
    def __exit__(s, *e): return True
v = V(1, 2) + 2 * V(3, 4)
print(list(v), v[0], len(v), 10 in v, v(), bool(V(0)), list(-v), f"{v:abc}")
with v:
    1 / 0
# --- attribute hooks
class A:
    def __getattr__(self, n): return n.upper()
    def __setattr__(self, n, v): self.__dict__[n] = v + 1
    def __delattr__(self, n): print("del", n)
a = A()
a.x = 1
del a.q
print(a.x, a.foo)
# --- attribute error
class A: pass
A().nope
# --- none attribute
None.foo
# --- descriptors
class D:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, o, t): return (self.name, o is None)
class A:
    x = D()
print(A.x, A().x)
# --- metaclass
class M(type):
    def __new__(m, n, b, d): return super().__new__(m, n, b, {**d, "tag": n.lower()})
    def __call__(c, *a): return ("made", super().__call__(*a))
class A(metaclass=M): pass
print(A.tag, A()[0], type(A).__name__)
# --- init_subclass
class P:
    subs = []
    def __init_subclass__(cls, **kw): P.subs.append((cls.__name__, kw))
class Q(P, tag=1): pass
print(P.subs)
# --- slots
class A:
    __slots__ = ("x",)
a = A()
a.x = 1
print(a.x, hasattr(a, "__dict__"))
a.y = 2
# --- abstract
from abc import ABC, abstractmethod
class A(ABC):
    @abstractmethod
    def f(self): ...
A()
# --- dataclasses
from dataclasses import dataclass, field, asdict, replace, astuple
@dataclass(order=True, frozen=True)
class P:
    x: int
    y: list = field(default_factory=list, compare=False)
p = P(1, [2])
print(p, asdict(p), astuple(p), P(1) < P(2), replace(p, x=5), hash(P(1)) == hash(P(1)))
# --- frozen dataclass
from dataclasses import dataclass
@dataclass(frozen=True)
class P:
    x: int
P(1).x = 2
# --- enums
from enum import Enum, IntEnum, Flag, auto, StrEnum
class C(Enum):
    RED = auto()
    BLUE = 5
class F(Flag):
    A = auto()
    B = auto()
class S(StrEnum):
    X = "x"
print(C.RED, C(5), C["RED"].value, list(C), F.A | F.B, F.A in (F.A | F.B), S.X == "x", repr(C.BLUE), IntEnum("N", "A B").B + 1)
# --- bad enum
from enum import Enum
class C(Enum):
    A = 1
C(9)
# --- generators
def g():
    x = yield 1
    print("got", x)
    try:
        yield 2
    finally:
        print("closed")
i = g()
print(next(i), i.send("v"))
i.close()
# --- generator return
def g():
    yield 1
    return 5
def h():
    r = yield from g()
    yield r
print(list(h()))
# --- generator throw
def g():
    try:
        yield 1
    except ValueError as e:
        yield f"caught {e}"
i = g()
next(i)
print(i.throw(ValueError("x")))
# --- iterator protocol
class R:
    def __init__(s, n): s.n = n
    def __iter__(s): return s
    def __next__(s):
        if s.n == 0: raise StopIteration
        s.n -= 1
        return s.n
print(list(R(3)), sum(R(4)), list(iter([1, 2, 3].pop, 1)))
# --- exceptions
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise KeyError("k") from e
    finally:
        print("f")
except KeyError as e:
    print(repr(e), repr(e.__cause__), e.args)
else:
    print("no")
# --- custom exception
class E(Exception):
    def __init__(self, code): super().__init__(f"code {code}"); self.code = code
try:
    raise E(5)
except E as e:
    print(e, e.code, isinstance(e, Exception))
raise E(7)
# --- finally wins
def f():
    for i in range(3):
        try:
            continue
        finally:
            print(i)
    try:
        return 1
    finally:
        print("x")
print(f())
# --- else of loops
for i in range(3):
    if i == 5: break
else:
    print("no break")
while False: pass
else: print("w")
# --- exception groups
try:
    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
except* ValueError as e:
    print("v", e.exceptions)
except* TypeError as e:
    print("t", e.exceptions)
# --- uncaught group
raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
# --- notes
e = ValueError("x")
e.add_note("more")
print(e.__notes__)
# --- assert
assert 1 == 2, "no"
# --- raise nothing
raise
# --- raise text
raise "x"
# --- context managers
from contextlib import contextmanager, suppress, ExitStack, closing, nullcontext, redirect_stdout
import io
@contextmanager
def c(n):
    print("in", n)
    try:
        yield n
    finally:
        print("out", n)
with c(1) as a, c(2) as b:
    print(a, b)
with ExitStack() as s:
    s.enter_context(c(3))
    s.callback(print, "cb")
with suppress(ZeroDivisionError):
    1 / 0
f = io.StringIO()
with redirect_stdout(f):
    print("hidden")
print(repr(f.getvalue()))
# --- decorators
import functools
def twice(fn):
    @functools.wraps(fn)
    def w(*a): return fn(*a), fn(*a)
    return w
@twice
def f(x):
    "doc"
    return x + 1
print(f(1), f.__name__, f.__doc__)
# --- match
def m(x):
    match x:
        case 0 | 1: return "small"
        case int(n) if n > 100: return "big"
        case [a, *rest]: return ("list", a, rest)
        case {"k": v, **r}: return ("dict", v, r)
        case str() as s: return s.upper()
        case None: return "none"
        case _: return "other"
print(m(1), m(500), m([1, 2, 3]), m({"k": 1, "z": 2}), m("a"), m(None), m(5.5))
# --- match classes
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
match P(1, 2):
    case P(0, y): print("zero", y)
    case P(x=1, y=yy): print("one", yy)
# --- type hints
from typing import Optional, Union, TypedDict, NamedTuple, Generic, TypeVar, Literal, get_type_hints, Any, Callable, Protocol
T = TypeVar("T")
class N(NamedTuple):
    a: int
    b: str = "x"
class D(TypedDict, total=False):
    k: int
class B(Generic[T]): pass
def f(a: int, b: Optional[str] = None) -> list[int]: ...
print(N(1), D(k=1), get_type_hints(f), B[int], Union[int, str], Literal["a"], int | None, Callable[[int], str])
# --- scope
x = "global"
def f():
    x = "local"
    class A:
        y = x
        def g(self): return x
    return A.y, A().g(), globals()["x"], sorted(locals())
print(f())
# --- exec and eval
d = {}
exec("a = 1\nb = a + 1", d)
print(d["b"], eval("1 + x", {"x": 2}), eval(compile("2 * 3", "s", "eval")))
# --- eval syntax error
eval("1 +")
# --- introspection
import inspect
def f(a, b=1, *c, d, **e): pass
print(inspect.signature(f), f.__code__.co_varnames, inspect.isfunction(f), f.__qualname__, inspect.getmembers(5, inspect.isclass)[0][0])
# --- global statement
def f():
    global made
    made = 5
f()
print(made, "made" in globals())
# --- del
x = [1, 2, 3]
y = {"a": 1}
del x[0], y["a"]
print(x, y)
del x
print(x)
# --- augmented
x = 5
x += 1; x *= 2; x //= 5; x **= 3; x %= 5; x <<= 2; x |= 1
a = "a"; a *= 3
print(x, a)
# --- string concatenation
print("a" "b" 'c' f"{1}" r"\n" b"x".decode())
# --- multi line
x = (1 +
     2)
y = [
    1,
    2,
]
print(x, y, """a
b""", 'c\
d')
# --- ternary and lambda
print("a" if [] else "b", (lambda *a, k=1: (a, k))(1, 2, k=3))
# --- star expressions
a = [1, 2]
print(*a, *"xy", sep="-", end="!\n")
# --- numbers literals
print(0xff, 0o17, 0b11, 1_000, 1e3, .5, 5., 1j, 0xFFFF_FFFF)
# --- weak references
import weakref, gc
class A: pass
a = A()
r = weakref.ref(a)
print(r() is a)
del a
gc.collect()
print(r())
# --- del method
class A:
    def __del__(self): print("gone")
a = A()
a = None
print("after")
# --- traceback text
import traceback
def f(): 1 / 0
try:
    f()
except ZeroDivisionError:
    print(traceback.format_exc().splitlines()[-1])
# --- warnings
import warnings
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    warnings.warn("careful", DeprecationWarning)
print(w[0].message, w[0].category.__name__)
# --- positional only lambda default
f = lambda x, y=2, /, *, z=3: (x, y, z)
print(f(1), f(1, 5, z=6))
# --- nested functions and recursion
def perms(s):
    return [s] if len(s) < 2 else [c + p for i, c in enumerate(s) for p in perms(s[:i] + s[i + 1:])]
print(perms("abc"))
# --- type error messages
for f in (lambda: 1 + "a", lambda: "a" + 1, lambda: len(5), lambda: [] - 1, lambda: 5(), lambda: None[0], lambda: {}.x, lambda: int([]), lambda: "a"["b"], lambda: iter(5)):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
# --- value errors
import json
for f in (lambda: int("x"), lambda: float("y"), lambda: [].index(1), lambda: [].pop(), lambda: {}.pop("k"), lambda: max([]), lambda: "a".index("b"), lambda: list(range(0, 1, 0)), lambda: chr(-1), lambda: json.loads("{")):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
