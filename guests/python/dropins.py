"""Other implementations of standard functions, with the same behavior."""

import concurrent.futures
import concurrent.futures.thread
import hashlib
import hmac
import io
import json
import queue
import sys
import zoneinfo._common
import zoneinfo._tzpath

import _wexec

LIBRARY = "/lib/python313.zip"


def install():
    _wexec.json_originals(json.loads, json.dumps)
    json.loads = _wexec.loads
    json.dumps = _wexec.dumps
    json.dump = dump
    queue.SimpleQueue = queue._PySimpleQueue  # the C version blocks where nothing can interrupt it
    hashlib.pbkdf2_hmac = pbkdf2_hmac
    zoneinfo._common.load_tzdata = load_tzdata
    zoneinfo._tzpath.available_timezones = zoneinfo.available_timezones = available_timezones
    zoneinfo.reset_tzpath(to=[])
    concurrent.futures.ThreadPoolExecutor = concurrent.futures.thread.ThreadPoolExecutor = InlineExecutor


original_dump = json.dump


def dump(obj, fp, **keywords):
    """json.dump; the original uses a slow encoder for its chunks."""
    if not keywords.keys() - {"indent", "ensure_ascii"}:
        try:
            text = _wexec.dumps(obj, **keywords)
        except (TypeError, ValueError, RecursionError):
            pass  # the original raises the error again, after writing what comes before it
        else:
            fp.write(text)
            return
    original_dump(obj, fp, **keywords)


dump.__name__ = dump.__qualname__ = "dump"


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """hashlib.pbkdf2_hmac, which the library leaves to OpenSSL."""
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    first = hmac.new(bytes(password), None, hash_name)
    size = first.digest_size if dklen is None else dklen
    if size < 1:
        raise ValueError("key length must be greater than 0.")
    out = b""
    while len(out) < size:
        mac = first.copy()
        mac.update(bytes(salt) + (len(out) // first.digest_size + 1).to_bytes(4, "big"))
        block = mac.digest()
        total = int.from_bytes(block, "big")
        for _ in range(iterations - 1):
            mac = first.copy()
            mac.update(block)
            block = mac.digest()
            total ^= int.from_bytes(block, "big")
        out += total.to_bytes(first.digest_size, "big")
    return out[:size]


def library_file(name):
    from zipimport import zipimporter

    return zipimporter(LIBRARY).get_data(f"{LIBRARY}/{name}")


def load_tzdata(key):
    """The compiled zone with that name, from the archive of the library."""
    parts = str(key).split("/")
    if not key or any(p in ("", ".", "..") for p in parts):
        raise zoneinfo._common.ZoneInfoNotFoundError(f"No time zone found with key {key}")
    try:
        return io.BytesIO(library_file("tzdata/zoneinfo/" + key))
    except OSError:
        raise zoneinfo._common.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None


def available_timezones():
    """Get a set containing all available time zones."""
    return set(library_file("tzdata/zones").decode().split())


class InlineExecutor(concurrent.futures.Executor):
    """A thread pool without threads: a submitted function runs at once.

    Tools are the exception: their calls are started, and the answer is waited for
    when the future is asked, so that they are under way side by side.
    """

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._shut = False
        if initializer is not None:
            initializer(*initargs)

    def submit(self, fn, /, *args, **kwargs):
        from . import tools

        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if isinstance(fn, tools.Tool):
            return CallFuture(_wexec.start(fn._name, tools.packed(args, kwargs)))
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shut = True


class CallFuture(concurrent.futures.Future):
    """The future of a tool call in flight."""

    def __init__(self, call):
        super().__init__()
        self._call = call
        self.set_running_or_notify_cancel()

    def _settle(self, timeout):
        if super().done():
            return
        if _wexec.wait(self._call, -1 if timeout is None else max(0, round(timeout * 1e9))) != self._call:
            return
        try:
            self.set_result(_wexec.take(self._call))
        except Exception as error:
            self.set_exception(error)

    def done(self):
        self._settle(0)
        return super().done()

    def result(self, timeout=None):
        self._settle(timeout)
        return super().result(0)

    def exception(self, timeout=None):
        self._settle(timeout)
        return super().exception(0)


def wait(fs, timeout=None, return_when=concurrent.futures.ALL_COMPLETED):
    """concurrent.futures.wait, with calls in flight."""
    for future in fs:
        if isinstance(future, CallFuture):
            future._settle(timeout)
    return original_wait(fs, timeout, return_when)


def as_completed(fs, timeout=None):
    """concurrent.futures.as_completed, in the order of submission."""
    for future in dict.fromkeys(fs):
        if isinstance(future, CallFuture):
            future._settle(timeout)
        yield future


original_wait = concurrent.futures.wait
concurrent.futures.wait = wait
concurrent.futures.as_completed = as_completed
