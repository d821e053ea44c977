"""Helpers around tools: builtins, which can also be imported from tools.

They work on plain functions and on coroutine functions alike: given something
asynchronous, a helper returns a coroutine.
"""

import asyncio
import inspect
import random
import time

import _wexec

from . import paging
from .failures import PolicyError, ToolError
from .tools import AsyncTool, Tool, call_later, call_tool, coroutine_of

NOT_GIVEN = object()
FINAL_CODES = ("tool.unknown", "tool.invalid_args")


def search_tools(query, limit=10, detail="summary"):
    """Searches tools: {"tools": [{"name", "call", "summary", …}], "total"}."""
    return _wexec.call("wexec:search", {"query": str(query), "limit": limit, "detail": detail})


def describe_tool(name):
    """The full description of one tool: describe_tool("github.list_commits")."""
    return _wexec.call("wexec:describe", {"name": name._name if isinstance(name, Tool) else str(name)})


def search_files(glob="**"):
    """The files of the workspace that match: search_files("src/**/*.py")."""
    return _wexec.call("wexec:search_files", {"glob": str(glob)})


def search_content(pattern, options=None, /, *, glob="", context=0):
    """The lines that match a regular expression: [{"file", "line", "text"}], with "before" and "after" if context is given."""
    if getattr(pattern, "pattern", None) is not None:
        pattern = ("(?i)" if pattern.flags & 2 else "") + pattern.pattern
    given = {"glob": glob, "context": context, **(options or {})}
    return _wexec.call("wexec:search_content", {**given, "pattern": str(pattern), "glob": str(given["glob"])})


def submit_result(result=None, /, *, summary="", changed=()):
    """Says what the program did, for the person who accepts its changes."""
    given = {"summary": summary, "changed": changed, **(result or {})}
    return _wexec.call("wexec:submit_result", {"summary": str(given["summary"]), "changed": [str(path) for path in given["changed"]]})


def signal(name, options, timeout):
    """The arguments of wait_for."""
    timeout = (options or {}).get("timeout", timeout)
    return {"name": str(name)} if timeout is None else {"name": str(name), "timeout": timeout}


def wait_for(name, options=None, /, *, timeout=None):
    """Waits for a signal from outside and returns its payload; timeout is in seconds."""
    return _wexec.call("wexec:wait_for", signal(name, options, timeout))


async def wait_for_later(name, options=None, /, *, timeout=None):
    return await call_later("wexec:wait_for", signal(name, options, timeout))


def is_async(fn):
    return isinstance(fn, AsyncTool) or inspect.iscoroutinefunction(fn) or inspect.isawaitable(fn)


def worth_trying(error, retry_on):
    """Whether to retry: a denial and an unknown tool do not change."""
    code = getattr(error, "code", None)
    if retry_on is None:
        return not isinstance(error, PolicyError) and code not in FINAL_CODES
    if isinstance(retry_on, str):
        return code == retry_on
    if isinstance(retry_on, type) or isinstance(retry_on, tuple) and all(isinstance(t, type) for t in retry_on):
        return isinstance(error, retry_on)
    if callable(retry_on):
        return bool(retry_on(error))
    return code in retry_on


class Trial:
    """The state of one attempt()."""

    def __init__(self, retries, backoff, jitter, retry_on, timeout, fallback):
        self.retries, self.backoff, self.jitter = retries, backoff, jitter
        self.retry_on, self.timeout, self.fallback = retry_on, timeout, fallback
        self.count = 0

    def pause(self, error):
        """Seconds until the next try; None after the last one."""
        if self.count >= self.retries or not worth_trying(error, self.retry_on):
            return None
        pause = self.backoff * 2**self.count
        self.count += 1
        return pause + pause * self.jitter * random.random()

    def give_up(self, error):
        if self.fallback is NOT_GIVEN:
            raise error
        return self.fallback(error) if callable(self.fallback) else self.fallback


def attempt(fn, *, retries=2, backoff=0.2, jitter=0.2, retry_on=None, timeout=None, fallback=NOT_GIVEN):
    """Calls fn until it works: retries more times, waiting backoff seconds and twice as long each time.

    retry_on: an exception type, a code or a list of them; timeout: seconds for each
    try of an asynchronous fn; fallback: a value, or a function of the error, in the end.
    """
    trial = Trial(retries, backoff, jitter, retry_on, timeout, fallback)
    if is_async(fn):
        return attempt_later(fn, trial, None)
    while True:
        try:
            value = fn()
            break
        except Exception as error:
            pause = trial.pause(error)
            if pause is None:
                return trial.give_up(error)
            time.sleep(pause)
    return attempt_later(fn, trial, value) if inspect.isawaitable(value) else value


async def attempt_later(fn, trial, running):
    while True:
        try:
            running = fn if inspect.isawaitable(fn) else running if running is not None else fn()
            return await (asyncio.wait_for(running, trial.timeout) if trial.timeout else running)
        except Exception as error:
            if isinstance(error, TimeoutError) and trial.timeout:
                error = ToolError(f"no answer within {trial.timeout} s", code="tool.timeout")
            pause = None if inspect.isawaitable(fn) else trial.pause(error)
            if pause is None:
                return trial.give_up(error)
            running = None
            await asyncio.sleep(pause)


def failed_branch(error):
    return {"ok": False, "error": {
        "code": getattr(error, "code", None) or "guest.exception", "tool": getattr(error, "tool", None) or None,
        "message": str(error), "hint": getattr(error, "hint", None) or None}}


def settle(branches):
    """Every branch's value or error: {"ok": True, "value"} or {"ok": False, "error"}, a list for a list, a dict for a dict.

    A branch is a function without arguments, called in turn, or something to await, run side by side.
    """
    branches = branches if isinstance(branches, dict) else list(branches)
    items = branches.values() if isinstance(branches, dict) else branches
    if any(is_async(b) for b in items):
        return settle_later(branches)
    results = []
    for branch in items:
        try:
            results.append({"ok": True, "value": branch() if callable(branch) else branch})
        except Exception as error:
            results.append(failed_branch(error))
    return dict(zip(branches, results)) if isinstance(branches, dict) else results


async def settle_later(branches):
    branches = branches if isinstance(branches, dict) else list(branches)

    async def settled(branch):
        try:
            value = branch() if callable(branch) else branch
            return {"ok": True, "value": await value if inspect.isawaitable(value) else value}
        except Exception as error:
            return failed_branch(error)

    if isinstance(branches, dict):
        results = await asyncio.gather(*map(settled, branches.values()))
        return dict(zip(branches, results))
    return await asyncio.gather(*map(settled, branches))


def map_limit(items, limit, fn=None):
    """fn of every item, in order; at most limit at a time where fn is asynchronous."""
    if callable(limit):
        limit, fn = fn or 8, limit
    items = list(items)
    if is_async(fn):
        return map_later(items, limit, fn)
    results = [fn(item) for item in items]
    if any(inspect.isawaitable(r) for r in results):
        return map_later(results, limit, None)
    return results


async def map_later(items, limit, fn):
    results, place = [None] * len(items), iter(range(len(items)))

    async def work():
        for i in place:
            value = fn(items[i]) if fn else items[i]
            results[i] = await value if inspect.isawaitable(value) else value

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(limit, len(items)))):
            group.create_task(work())
    return results


def pages(tool, args=None, /, *, max_items=None, max_pages=100, **kwargs):
    """The items of every page of a tool's answer: for issue in pages(github.list_issues, state="open")."""
    given = {**(args or {}), **kwargs}
    if isinstance(tool, str):
        tool = Tool(tool)
    walk = paging.Walk(given, max_items, max_pages)
    if is_async(tool):
        return pages_later(tool, walk)
    return pages_now(tool, walk)


def pages_now(tool, walk):
    while walk.request is not None:
        yield from walk.items(tool(**walk.request))


async def pages_later(tool, walk):
    while walk.request is not None:
        for item in walk.items(await tool(**walk.request)):
            yield item


def progress(done=None, total=None, text=None):
    """Reports progress to the user: progress(3, 10, "reading issues")."""
    _wexec.call("wexec:progress", {k: v for k, v in (("done", done), ("total", total), ("text", text)) if v is not None})


class Privacy:
    """Properties of redacted personal data, without revealing it."""

    def kind(self, value):
        """email, phone, … or None."""
        return _wexec.call("wexec:pii", {"op": "kind", "values": [value]})

    def equal(self, one, other):
        """True if two tokens or values stand for the same value."""
        return _wexec.call("wexec:pii", {"op": "equal", "values": [one, other]})

    def domain(self, value):
        """The domain of an email address."""
        return _wexec.call("wexec:pii", {"op": "domain", "values": [value]})

    def __repr__(self):
        return "<pii: kind, equal, domain>"


class Artifacts:
    """Content that lasts: put keeps it, read returns lines of it, in any run."""

    def __init__(self, call):
        self._call = call

    def put(self, /, *args, **kwargs):
        """Keeps text, bytes or a value: put("a.csv", text, type="text/csv")."""
        return self._call("artifacts.put", given(("name", "data"), args, kwargs))

    def read(self, /, *args, **kwargs):
        """A page of an artifact: read(kept, match="error", lines=20); from_ is the first line."""
        return self._call("artifacts.read", given(("id",), args, kwargs))

    def __repr__(self):
        return "<artifacts: put, read>"


def given(names, args, kwargs):
    """Arguments by position with a dict of options after them, or by name."""
    first, *rest = args or ({},)
    if type(first) is dict:
        first = first.get("artifact", first)  # what put answered
    out = dict(first) if type(first) is dict else dict(zip(names, (first, *rest)))
    for options in rest[len(names) - 1:]:
        out.update(options or {})
    out.update(kwargs)
    if "from_" in out:
        out["from"] = out.pop("from_")
    return out


HELPERS = {
    "ToolError": ToolError, "PolicyError": PolicyError, "search_tools": search_tools, "describe_tool": describe_tool,
    "search_files": search_files, "search_content": search_content, "submit_result": submit_result,
    "searchFiles": search_files, "searchContent": search_content, "submitResult": submit_result,
    "sleep": time.sleep, "wait_for": wait_for, "waitFor": wait_for,
    "call_tool": call_tool, "attempt": attempt, "settle": settle, "map_limit": map_limit, "pages": pages, "progress": progress,
    "pii": Privacy(), "artifacts": Artifacts(_wexec.call),
}
ASYNC_HELPERS = {"settle": settle_later, "artifacts": Artifacts(coroutine_of), "sleep": asyncio.sleep,
                 "wait_for": wait_for_later, "waitFor": wait_for_later}
