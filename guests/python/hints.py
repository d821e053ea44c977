"""Hints for common mistakes, and for programs written for other environments."""

import re
import sys

from . import arrays

INSTEAD = {
    "pytz": "use zoneinfo: zoneinfo.ZoneInfo('Europe/Berlin')",
    "bs4": "use html.parser or xml.etree.ElementTree",
    "lxml": "use xml.etree.ElementTree or html.parser",
    "scipy": "use statistics and math",
    "openai": "call a tool instead: from tools import …",
    "dotenv": "use os.environ, which holds the variables that the policy allows",
    "ssl": "the host makes the connections: use requests or urllib.request",
    "tkinter": "there is no screen",
    "matplotlib": "there is no screen: return the numbers",
}

# Names of other languages for methods of str, list and dict.
METHODS = {
    "toUpperCase": ".upper()", "toLowerCase": ".lower()", "trim": ".strip()", "push": ".append(…)", "length": "len(x)", "size": "len(x)",
    "includes": "y in x", "contains": "y in x", "indexOf": ".find(…) of a text, .index(…) of a list", "map": "[f(x) for x in …]",
    "filter": "[x for x in … if …]", "forEach": "for x in …:", "reduce": "functools.reduce, or sum(…)", "some": "any(… for x in …)",
    "every": "all(… for x in …)", "slice": "x[a:b]", "substring": "x[a:b]", "substr": "x[a:b]", "concat": "x + y", "toString": "str(x)",
    "charAt": "x[i]", "hasOwnProperty": "y in x", "has": "y in x", "set": "x[key] = value", "entries": ".items()", "iteritems": ".items()",
    "has_key": "y in x", "join": "', '.join(list)", "unshift": ".insert(0, …)", "shift": ".pop(0)", "find": "next((x for x in … if …), None)",
    "padStart": ".rjust(…)", "padEnd": ".ljust(…)", "startsWith": ".startswith(…)", "endsWith": ".endswith(…)", "replaceAll": ".replace(…)",
    "toFixed": "f'{x:.2f}'", "flat": "[y for x in … for y in x]", "add": ".append(…)", "toJSON": "json.dumps(x)", "json": "the value itself",
}

# Modules of names that programs often forget to import.
ORIGINS = {
    "collections": "Counter defaultdict OrderedDict namedtuple deque ChainMap", "datetime": "timedelta timezone date",
    "pathlib": "Path PurePath", "dataclasses": "dataclass field asdict astuple", "enum": "Enum IntEnum auto", "decimal": "Decimal ROUND_HALF_UP",
    "functools": "reduce partial lru_cache wraps cached_property", "fractions": "Fraction", "io": "StringIO BytesIO", "zoneinfo": "ZoneInfo",
    "typing": "List Dict Optional Any Union Tuple Callable Iterable NamedTuple TypedDict", "math": "sqrt ceil floor pi log sin cos isclose",
    "itertools": "groupby chain combinations permutations islice accumulate product zip_longest", "statistics": "mean median stdev mode",
    "pprint": "pprint", "copy": "deepcopy", "contextlib": "contextmanager suppress", "urllib.parse": "urlparse urlencode quote unquote",
    "time": "sleep", "textwrap": "dedent", "uuid": "uuid4", "operator": "itemgetter attrgetter", "string": "ascii_lowercase ascii_letters",
    "random": "randint shuffle", "abc": "ABC abstractmethod",
}

# Syntax of other languages and its form in Python, for lines that are not Python.
ELSEWHERE = (
    (r"\s*[!%]|\s*pip3? install\b", "this is a notebook command: nothing can be installed, and there is no shell"),
    (r".*[^+]\+\+\s*;?\s*$|\s*\+\+\w|.*--;?\s*$", "write x += 1"),
    (r"\s*else\s+if\b", "write elif"),
    (r"\s*(//|/\*)", "a comment begins with #"),
    (r".*(&&|\|\|)", "write and, or"),
    (r".*[=!]==", "write == and !="),
    (r".*\bfunction\s*\w*\(", "write def name(…):"),
    (r"\s*(if|while|for)\s*\(.*\)\s*\{", "a block begins with a colon and is indented"),
    (r"\s*switch\b", "write match x: with case …:, or if and elif"),
    (r"\s*catch\b", "write except"),
    (r".*\?.*:.*", "write a if condition else b"),
)

# What the parts of an answer are called that other sandboxes do not unwrap.
WRAPPING = frozenset({"content", "structuredContent", "structured_content", "isError"})
UNWRAPPED = "a tool's answer is unwrapped already: use it without content[0].text and without json.loads"

QUOTES = re.compile("[\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")
SERVER_TEXT = "a tool is called as tools.SERVER.TOOL(name=value)"


def find(error, place, source):
    """One sentence, or an empty text."""
    given = getattr(error, "hint", "")
    if isinstance(given, str) and given:
        return given
    try:
        for kind, ask in ASK:
            if isinstance(error, kind):
                hint = ask(error, place, source)
                if hint:
                    return hint
    except Exception:
        return ""
    return ""


def about_syntax(error, place, source):
    text = place.get("text", "")
    message = error.msg or ""
    if "```" in source:
        return "the code is inside Markdown fences: remove them"
    if QUOTES.search(text):
        return "the line contains typographic quotes: use ' or \""
    if isinstance(error, TabError) or "inconsistent use of tabs" in message:
        return "indent with spaces only"
    if isinstance(error, IndentationError):
        return "indent with four spaces each level, and nothing at the top level"
    if re.match(r"\s*(const|let|var|function)\b|.*=>|.*\bnew [A-Z]", text):
        return "this looks like JavaScript: set the language to javascript, or write it in Python"
    if re.match(r"\s*print\s+[\"'\w]", text):
        return "print is a function: print(…)"
    if "'await' outside async function" in message:
        return "make the function async def, and await it where it is called"
    if message == "invalid syntax" or "cannot assign to" in message or "invalid decimal literal" in message:
        for pattern, hint in ELSEWHERE:
            if re.match(pattern, text):
                return hint
    return ""


def about_import(error, place, source):
    name, _, rest = (error.name or "").partition(".")
    if isinstance(error, ModuleNotFoundError):
        if rest and name in ("tools", "mcp_servers"):
            head, _, last = error.name.rpartition(".")
            return nearest_server(last, head + ".{}")
        if name in arrays.USES:
            return arrays.instead(name, source)
        if name in INSTEAD:
            return INSTEAD[name]
        if name in sys.stdlib_module_names:
            return "this module of the standard library is not available in the sandbox"
        return ("a program imports the standard library, requests, httpx, aiohttp, yaml, dateutil, tools and mcp_servers; "
                "if the package is pure Python, ask the person to add it: wexec packages add PATH")
    if name == "tools" or name == "mcp_servers":
        wrong = getattr(error, "name_from", None)
        return nearest_server(wrong, f"from {error.name} import {{}}") if wrong else ""
    return ""


def about_name(error, place, source):
    name = error.name or ""
    words = {"null": "None", "true": "True", "false": "False", "undefined": "None", "console": "print(…)",
             "require": "import", "fetch": "import requests"}
    if name in words:
        return f"in Python this is {words[name]}"
    if name in sys.stdlib_module_names:
        return f"import {name}"
    for module, names in ORIGINS.items():
        if name in names.split():
            return f"from {module} import {name}"
    return ""


def about_attribute(error, place, source):
    from . import tools

    if isinstance(error.obj, (tools.ToolsModule, tools.AsyncTools)):
        return nearest_server(error.name)
    if type(error.obj).__name__ == "coroutine":
        return "the call was not awaited: (await …)." + str(error.name)
    name = str(error.name)
    if error.obj is None:
        return nothing_there(place)
    if isinstance(error.obj, (str, list, dict, tuple, set, float, int)) and name in METHODS:
        return f"in Python this is {METHODS[name]}"
    if isinstance(error.obj, dict) and f".{name}(" not in place.get("text", ""):
        return UNWRAPPED if name in WRAPPING else f"an answer is a dict: write [{name!r}] or .get({name!r})"
    if error.obj is sys.modules.get("datetime") and hasattr(error.obj.datetime, name):
        return f"write datetime.datetime.{name}, or from datetime import datetime"
    if isinstance(error.obj, type) and error.obj.__module__ == "datetime" and name == error.obj.__name__:
        return f"{name} is the class already: write {name}.now() and the like"
    return ""


def nothing_there(place):
    if re.search(r"\.(sort|reverse|append|extend|insert|update|add|remove|clear)\([^()]*\)\s*[.\[]", place.get("text", "")):
        return "a method that changes its object returns None: call it on its own line, or use sorted(…), reversed(…) or x + [y]"
    return "the value is None: a function without return returns None, and so does .get(…) for a missing key"


def about_key(error, place, source):
    if type(error).__name__ == "ZoneInfoNotFoundError":
        return "zoneinfo.available_timezones() lists the names, such as Europe/Berlin"
    if type(error) is not KeyError:
        return ""
    if error.args and error.args[0] in WRAPPING:
        return UNWRAPPED
    return "the key does not exist: list(x) shows the keys, x.get(key) returns None for a missing key"


def about_value(error, place, source):
    import json

    if isinstance(error, json.JSONDecodeError):
        if "double quotes" in error.msg and "'" in error.doc[:200]:
            return "JSON uses double quotes: read what Python printed with ast.literal_eval(…)"
        if not error.doc.strip():
            return "the text is empty"
    return ""


def about_input(error, place, source):
    return "a program cannot ask the user: the caller passes args, and sys.stdin holds the run's input"


def about_type(error, place, source):
    message = str(error)
    if "coroutine" in message and ("not subscriptable" in message or "not iterable" in message or "has no len" in message):
        return "the call was not awaited: write await before it"
    if "JSON object must be str, bytes or bytearray" in message:
        return "a tool's answer is already a Python object: remove json.loads"
    if "is not JSON serializable" in message:
        return "json.dumps takes plain values only: use json.dumps(x, default=str)"
    if "string indices must be integers" in message:
        return "the value is a string, not a dict: if it is JSON, use json.loads(…)"
    if "'NoneType' object is not" in message:
        return nothing_there(place)
    if "offset-naive and offset-aware" in message:
        return "give both values a time zone: datetime.now(timezone.utc), x.replace(tzinfo=timezone.utc)"
    if any(words in message for words in NOT_AWAITABLE):
        return "call the function: await f()" if re.search(r"\b(function|method)\b", message) else "the value is not awaitable: remove await"
    if message.startswith("unhashable type"):
        return "members of a set and keys of a dict must be immutable: use tuple(x) for a list, frozenset(x) for a set, tuple(sorted(x.items())) for a dict"
    return ""


NOT_AWAITABLE = ("can't be used in 'await' expression", "a coroutine was expected, got", "An asyncio.Future, a coroutine or an awaitable is required",
                 "A Future, a coroutine or an awaitable is required", "An asyncio.Future or coroutine is required")


def about_runtime(error, place, source):
    message = str(error)
    if "asyncio.run() cannot be called" in message:
        return "write await main() instead of asyncio.run(main())"
    if isinstance(error, RecursionError):
        return "use a loop, keep the stack in a list, or raise the recursion limit of the run"
    return ""


def about_memory(error, place, source):
    return "keep less data at once: read answers page by page, keep only the fields you need, or raise the memory limit"


def about_permission(error, place, source):
    if getattr(error, "filename", None):
        return "a program can reach files in /tmp (scratch) and /mcp-servers (the catalogue): for others, allow the path in the policy under files"
    return ""


def about_missing_file(error, place, source):
    return about_permission(error, place, source)


def nearest_server(name, form="tools.{}"):
    """What to write instead of an unknown server name."""
    import difflib

    from . import state

    if not state.servers:
        return "no server is connected: ask the person to add one, and allow its tools in the policy under tools"
    close = difflib.get_close_matches(name or "", state.servers, 1, 0.5)
    if close:
        return "did you mean " + form.format(close[0])
    return "servers here: " + ", ".join(state.servers[:20])


ASK = (
    (SyntaxError, about_syntax),
    (ImportError, about_import),
    (NameError, about_name),
    (AttributeError, about_attribute),
    (KeyError, about_key),
    (ValueError, about_value),
    (EOFError, about_input),
    (TypeError, about_type),
    (RuntimeError, about_runtime),
    (MemoryError, about_memory),
    (PermissionError, about_permission),
    (FileNotFoundError, about_missing_file),
)
