"""One run: prepare, then the program's code (run by the shim), then complete or failed."""

import asyncio
import atexit
import builtins
import inspect
import linecache
import logging
import os
import random
import re
import sys
import types

import _wexec

from . import check, loop, report, state, tools
from .values import NoForm, natural

VALUE, ERROR, NOTHING = 0, 1, 2
LAST_EXPRESSION = 2  # state.result: the result is the last expression, and no return asked for it
PLAIN = frozenset({int, str, list, dict, float, bool, tuple, set})  # types that are never awaitable

FENCED = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*\n(.*?)\n?[ \t]*\1[ \t]*\s*\Z", re.DOTALL)


def prepare():
    """Reads the input and compiles the program; None if the run is over."""
    doc = _wexec.input()
    state.input = doc
    state.file = file = doc.get("file") or "main.py"
    state.servers = doc.get("servers") or []
    state.background = []
    unseed()
    main = main_module(doc, file)
    environment(doc)
    state.source = source = plain_source(doc.get("code") or "")
    linecache.cache[file] = (source_again,)
    for name, known in tools.known_names(source).items():
        main.__dict__.setdefault(name, known)
    try:
        code, state.result = compiled(source, file)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        failed(error)
        return None
    if doc.get("check"):
        _wexec.finish(VALUE, check.named(state.source, file))
        return None
    limit = doc.get("recursion") or 1000
    if limit != sys.getrecursionlimit():
        sys.setrecursionlimit(limit)
    return code, main.__dict__


def unseed():
    """Makes random draw a seed on first use."""
    generator = random._inst
    _wexec.unseed(generator)
    if generator.gauss_next is not None:
        generator.gauss_next = None


def main_module(doc, file):
    main = state.main
    if main is None or not doc.get("session"):
        state.main = main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        working_folder(doc.get("cwd") or "/tmp")
    space = main.__dict__
    space["__file__"] = file
    space["__loader__"] = Loader
    space["__builtins__"] = builtins
    space["args"] = doc.get("args", {})
    return main


def environment(doc):
    sys.argv[:] = [state.file, *(doc.get("argv") or ())]
    env = doc.get("env")
    if env or os.environ:
        os.environ.clear()
        for name, value in (env or {}).items():
            os.environ[name] = str(value)
    root, packages = doc.get("root"), doc.get("packages")
    if root or packages or len(sys.path) > 1:
        library = sys.path[-1] if not state.path else state.path
        state.path = library
        sys.path[:] = [p for p in (root, library, packages) if p]


def working_folder(folder):
    try:
        if os.getcwd() != folder:
            os.chdir(folder)
    except OSError:
        pass  # there is no scratch folder


def source_again():
    return state.source


class Loader:
    """Gives linecache, and so inspect and traceback, the program after linecache.clearcache()."""

    @staticmethod
    def get_source(name):
        return state.source


def plain_source(code):
    """The code without a byte order mark and without Markdown fences around it."""
    code = code.removeprefix("\ufeff")
    if "```" in code or "~~~" in code:
        fenced = FENCED.match(code)
        if fenced and fenced[1] not in fenced[3]:
            lines_before = code[:fenced.start(3)].count("\n")
            return "\n" * lines_before + fenced[3]
    return code


def compiled(source, file):
    try:
        return _wexec.compile(source, file)
    except IndentationError as error:
        moved = outdented(source)
        if moved is None:
            raise
        try:
            made = _wexec.compile(moved, file)
        except SyntaxError:
            raise error from None
        state.source = moved
        return made


def outdented(source):
    """A program that is indented as a whole, without the indentation."""
    first = next((line for line in source.splitlines() if line.strip()), "")
    margin = first[:len(first) - len(first.lstrip())]
    if not margin:
        return None
    lines = source.split("\n")
    if any(line.strip() and not line.startswith(margin) for line in lines):
        return None
    return "\n".join(line.removeprefix(margin) for line in lines)


def complete(result):
    """The program ended with this result."""
    if result is not None and type(result) not in PLAIN and inspect.isawaitable(result):
        result = loop.drive(result)
    elif state.result == 0:
        result = None
    loop.close_left_over()
    run_exit_functions()
    sys.stdout.flush()
    sys.stderr.flush()
    if state.background:
        failed(state.background[0])
        return
    if result is None:
        _wexec.finish(NOTHING, None)
    elif not _wexec.finish(VALUE, result):
        finish_natural(result)


def finish_natural(result):
    """Hands over a result that is not plain JSON."""
    try:
        plain = natural(result)
    except NoForm as problem:
        if state.result != LAST_EXPRESSION:
            raise
        if problem.path != "value":  # a part of data; a value without a form is not meant to be one
            print("the program has no value:", problem, file=sys.stderr)
            sys.stderr.flush()
        _wexec.finish(NOTHING, None)
        return
    if not _wexec.finish(VALUE, plain):
        raise MemoryError("the result does not fit in memory")


def failed(error):
    """The program ended with an exception."""
    sys.setrecursionlimit(max(sys.getrecursionlimit() + 200, 400))
    if isinstance(error, SystemExit):
        leave(error)
        return
    try:
        run_exit_functions()
        sys.stdout.flush()
    except BaseException as second:
        report.print_exception(second)
    _wexec.finish(ERROR, report.outcome(error, state.file, state.source))


def leave(error):
    """exit(n): no status and 0 mean success without a value."""
    try:
        loop.close_left_over()
        run_exit_functions()
    except BaseException as second:
        report.print_exception(second)
    code = error.code
    if code is None or code == 0 and isinstance(code, int):
        sys.stdout.flush()
        _wexec.finish(NOTHING, None)
        return
    text = f"the program ended with exit({code!r})"
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        text, code = str(code), 1
    sys.stdout.flush()
    out = {"code": "guest.exit", "name": "SystemExit", "message": text, "exit": int(code) & 0xFF}
    out.update(report.place_of(error, state.file))
    _wexec.finish(ERROR, out)


def run_exit_functions():
    if atexit._ncallbacks():
        atexit._run_exitfuncs()
    if len(logging._handlerList) > 1:  # more than the handler of last resort
        logging.shutdown()
