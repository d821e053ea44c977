"""Exceptions as error outcomes: place in the program, readable stack, hint."""

import linecache
import sys
import traceback

from . import hints
from .failures import CallError
from .values import NoForm

STACK_LINES = 200
TEXT = 4000  # characters of a message
LINE = 400   # characters of a line of the program or the stack
PRELUDE = "/prelude/"
LIBRARY = "/lib/"


class Stalled(BaseException):
    """The program waits for an event that nothing can trigger."""

    hint = "no call and no timer is pending: look for a future, event, queue or lock that is never set or released"
    place = None


Stalled.__module__ = "builtins"


def own(file):
    """True for a file of the program, not of the prelude or of Python itself."""
    return not (file.startswith((PRELUDE, LIBRARY, "<frozen ")) or file == "<string>")


def outcome(error, file, source):
    """The error outcome of an exception that the program did not catch."""
    error = first_of_group(error)
    name = "TypeError" if isinstance(error, NoForm) else type(error).__name__
    out = {"code": code_of(error), "name": name, "message": message_of(error)}
    for name in ("tool", "rule"):
        value = getattr(error, name, "")
        if isinstance(error, CallError) and value:
            out[name] = value
    out.update(place_of(error, file))
    hint = hints.find(error, out, source)
    if hint:
        out["hint"] = cut(hint)
    if "text" in out:
        out["text"] = cut(out["text"])
    out["stack"] = stack_of(error)
    return out


def cut(text):
    return text if len(text) <= LINE else text[:LINE] + "…"


def first_of_group(error):
    """Replaces a group of one exception by that exception."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def code_of(error):
    if isinstance(error, CallError):
        return error.code
    if isinstance(error, NoForm):
        return "tool.invalid_args" if error.path.startswith("args") else "guest.result"
    if isinstance(error, Stalled):
        return "guest.stalled"
    if isinstance(error, SyntaxError):
        return "guest.syntax"
    if isinstance(error, PermissionError) and error.filename is not None:
        return "denied.file"
    code = getattr(error, "wexec_code", None)
    if isinstance(code, str):
        return code
    return "guest.exception"


def message_of(error):
    try:
        if isinstance(error, SyntaxError):
            text = error.msg or "invalid syntax"
        else:
            lines = list(traceback.TracebackException(type(error), error, None, compact=True).format_exception_only())
            text = "".join(lines).strip()
            name = type(error).__name__
            for prefix in (f"{type(error).__module__}.{type(error).__qualname__}", type(error).__qualname__, name):
                if text == prefix:
                    text = ""
                    break
                if text.startswith(prefix + ": "):
                    text = text[len(prefix) + 2:]
                    break
        if not text and isinstance(error, MemoryError):
            text = "out of memory"
    except Exception:
        text = "an exception that cannot be converted to text"
    return text if len(text) <= TEXT else text[:TEXT] + "…"


def place_of(error, file):
    """file, line, column and text of the innermost frame of the program."""
    if isinstance(error, SyntaxError) and error.lineno and own(error.filename or file):
        text = error.text if isinstance(error.text, str) else linecache.getline(error.filename or file, error.lineno)
        return {
            "file": error.filename or file,
            "line": error.lineno,
            "column": max(error.offset or 1, 1),
            "text": text.rstrip("\n"),
        }
    if isinstance(error, Stalled) and error.place:
        return error.place
    best = None
    tb = error.__traceback__
    while tb is not None:
        if own(tb.tb_frame.f_code.co_filename):
            best = tb
        tb = tb.tb_next
    if best is None:
        inner = error.__cause__ or error.__context__
        return place_of(inner, file) if inner is not None and inner is not error else {"file": file}
    return place_in(best.tb_frame.f_code, best.tb_lasti, best.tb_lineno)


def place_in(code, instruction, line):
    column = 0
    for i, (start, _, col, _) in enumerate(code.co_positions()):
        if i * 2 >= instruction:
            line, column = start or line, col or 0
            break
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    column = len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))
    return {"file": code.co_filename, "line": line, "column": column + 1, "text": text}


def stack_of(error):
    """Python's traceback with causes and contexts, without the frames of the prelude."""
    try:
        whole = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
        trim(whole, 0)
        text = "".join(whole.format())
    except Exception:
        return type(error).__name__
    lines = text.splitlines()
    if len(lines) > STACK_LINES:
        half = STACK_LINES // 2
        lines = lines[:half] + [f"  … {len(lines) - 2 * half} lines left out …"] + lines[-half:]
    return "\n".join(map(cut, lines))


def trim(node, depth):
    """Removes the prelude's frames, and asyncio's above the first frame of the program."""
    if node is None or depth > 50:
        return
    if node.stack:
        frames = [f for f in node.stack if not f.filename.startswith((PRELUDE, "<frozen prelude"))]
        while frames and "/asyncio/" in frames[0].filename and any(own(f.filename) for f in frames):
            frames.pop(0)
        node.stack[:] = frames
    for inner in (node.__cause__, node.__context__):
        trim(inner, depth + 1)
    for inner in node.exceptions or ():
        trim(inner, depth + 1)


def print_exception(error, header=""):
    """Prints an exception that is not the outcome to stderr, as Python does."""
    sys.stderr.write(header + stack_of(error) + "\n")
