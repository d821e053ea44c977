"""Values that are not plain JSON; guests/values.md is the table.

The shim writes exact builtin types by itself and calls natural() for the rest.
"""

import base64
import collections
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import math
import pathlib
import sys
import types
import uuid
from array import array

DEPTH = 900
EXACT_INT = 2**53 - 1

ARRAYS = (list, tuple, range, collections.deque, array, type({}.keys()), type({}.values()), type({}.items()))
TEXTS = (uuid.UUID, pathlib.PurePath, fractions.Fraction)
ITERATORS = (map, filter, zip, enumerate, reversed, types.GeneratorType)
CALLABLES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.MethodDescriptorType, type, types.ModuleType, functools.partial,
)


class NoForm(TypeError):
    """A value without a JSON form, and where it is."""

    __module__ = "builtins"

    def __init__(self, path, message, hint=""):
        super().__init__(f"{path} {message}")
        self.path, self.hint = path, hint


NoForm.__name__ = NoForm.__qualname__ = "TypeError"


def natural(value, root="value"):
    """The value converted to JSON types; raises NoForm with the place of a value without a JSON form."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 3 * DEPTH)  # a level takes two frames; the limit is the program's
    try:
        return convert(value, root, [])
    finally:
        sys.setrecursionlimit(limit)


def convert(value, path, around):
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -EXACT_INT <= value <= EXACT_INT else long_digits(value)
    if kind is float:
        return finite(value, path)
    if kind is dict:
        return mapping(value, path, around)
    if kind is list or kind is tuple and not hasattr(kind, "_fields"):
        return array_of(value, path, around)
    return special(value, path, around)


def special(value, path, around):
    if isinstance(value, enum.Enum):
        return convert(value.value, path, around)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return convert(int(value), path, around)
    if isinstance(value, float):
        return finite(float(value), path)
    if isinstance(value, datetime.datetime):
        return moment(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise NoForm(path, f"is {value}, and JSON has no such number", NUMBER_HINT)
        return str(value)
    if isinstance(value, TEXTS) or type(value).__module__ == "ipaddress":
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return mapping(dict(zip(value._fields, value)), path, around, value)
    if hasattr(type(value), "__dataclass_fields__"):
        fields = type(value).__dataclass_fields__
        return mapping({f: getattr(value, f) for f in fields if hasattr(value, f)}, path, around, value)
    if isinstance(value, (dict, types.MappingProxyType, collections.ChainMap, collections.UserDict)):
        return mapping(dict(value), path, around, value)
    if isinstance(value, types.SimpleNamespace):
        return mapping(vars(value), path, around, value)
    if isinstance(value, (set, frozenset)):
        try:
            value = sorted(value)
        except TypeError:
            value = list(value)
        return array_of(value, path, around)
    if isinstance(value, ARRAYS) or isinstance(value, (collections.UserList,)):
        return array_of(list(value), path, around, value)
    if isinstance(value, collections.UserString):
        return str(value)
    if isinstance(value, BaseException):
        return error_object(value, path, around)
    raise without_form(value, path)


NUMBER_HINT = "replace it with None or a string, for example None if math.isnan(x) else x"


def finite(value, path):
    if math.isfinite(value):
        return value
    raise NoForm(path, f"is {value!r}, and JSON has no such number", NUMBER_HINT)


def long_digits(value):
    try:
        return str(value)
    except ValueError:  # the interpreter's limit on digits does not apply to data
        sign = "-" if value < 0 else ""
        return sign + decimal_digits(abs(value))


def decimal_digits(value):
    with decimal.localcontext() as context:
        context.prec = decimal.MAX_PREC
        context.Emax = decimal.MAX_EMAX
        context.traps[decimal.Inexact] = True
        return format(decimal.Decimal(value), "f")


def moment(value):
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def enter(value, path, around):
    for there, where in around:
        if there is value:
            raise NoForm(path, f"closes a cycle: it is {where} again", "return only the parts you need")
    if len(around) >= DEPTH:
        raise NoForm(short(path), f"is nested more than {DEPTH} levels deep")
    around.append((value, path))


def mapping(value, path, around, identity=None):
    enter(value if identity is None else identity, path, around)
    out = {}
    for key, item in value.items():
        name = key if type(key) is str else key_text(key, path)
        if name in out:
            raise NoForm(path, f"has two keys that are both {name!r} in JSON")
        out[name] = convert(item, f"{path}.{name}" if name.isidentifier() else f"{path}[{name!r}]", around)
    around.pop()
    return out


def array_of(value, path, around, identity=None):
    enter(value if identity is None else identity, path, around)
    out = [convert(item, f"{path}[{i}]", around) for i, item in enumerate(value)]
    around.pop()
    return out


def key_text(key, path):
    if isinstance(key, enum.Enum):
        return key.value if type(key.value) is str else key_text(key.value, path)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int):
        return long_digits(int(key))
    if isinstance(key, float) and math.isfinite(key):
        return repr(float(key)).removesuffix(".0")
    if isinstance(key, datetime.datetime):
        return moment(key)
    if isinstance(key, datetime.date):
        return key.isoformat()
    if isinstance(key, uuid.UUID) or isinstance(key, decimal.Decimal) and key.is_finite():
        return str(key)
    shown = short(repr(key))
    raise NoForm(path, f"has the key {shown}, a {type(key).__name__}, and JSON keys are text",
                 "convert the key to a string, for example '/'.join(key) or str(key)")


def error_object(value, path, around):
    out = {"name": type(value).__name__, "message": str(value)}
    for name in ("code", "tool", "rule", "hint"):
        item = getattr(value, name, None)
        if item not in (None, ""):
            out[name] = item
    if value.__cause__ is not None:
        out["cause"] = value.__cause__
    if isinstance(value, BaseExceptionGroup):
        out["errors"] = list(value.exceptions)
    return mapping(out, path, around, value)


def without_form(value, path):
    name = type(value).__name__
    if inspect.isawaitable(value):
        label = getattr(value, "__qualname__", "") or name
        return NoForm(path, f"is a {name} that was never awaited", f"write await before it: await {label}(…)")
    if isinstance(value, ITERATORS) or hasattr(value, "__next__"):
        return NoForm(path, f"is a {name}, which has no JSON form", "convert it to a list: list(…)")
    if isinstance(value, CALLABLES) or callable(value) and not hasattr(value, "__dict__"):
        label = getattr(value, "__name__", name)
        kind = "module" if isinstance(value, types.ModuleType) else "class" if isinstance(value, type) else "function"
        hint = "return what is in it" if kind == "module" else "call it" if label == "<lambda>" else f"call it: {label}(…)"
        return NoForm(path, f"is the {kind} {label}, which has no JSON form", hint)
    hint = "return only the fields you need"
    if getattr(value, "__dict__", None):
        hint = "return vars(x), or only the attributes you need"
    elif isinstance(value, complex):
        hint = "return [x.real, x.imag]"
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return NoForm(path, f"is {article} {name}, which has no JSON form", hint)


def short(text, size=120):
    return text if len(text) <= size else text[:size] + "…"
