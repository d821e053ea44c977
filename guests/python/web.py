"""HTTP through the host, for urllib.request and requests."""

import asyncio
import base64
import io
import urllib.error
import urllib.request
import urllib.response
from email.message import Message

import _wexec

from .failures import PolicyError, ToolError, denied_as

CHUNK = 1 << 18


class Late(ToolError):
    """No answer within the timeout of the program."""


class Stream(io.RawIOBase):
    """The body of a response as the host sends it."""

    def __init__(self, stream, timeout):
        self._stream, self._timeout, self._rest = stream, timeout, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._rest and self._stream is not None:
            self._rest = call("wexec:read", {"stream": self._stream, "max": CHUNK}, self._timeout)
            if not self._rest:
                self.release()
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def release(self):
        stream, self._stream = self._stream, None
        if stream is not None:
            _wexec.call("wexec:close", {"stream": stream})

    def close(self):
        if not self.closed:
            self.release()
        super().close()


def call(name, arguments, timeout):
    """A host call that is cancelled after timeout seconds."""
    if timeout is None:
        return _wexec.call(name, arguments)
    call = _wexec.start(name, arguments)
    if _wexec.wait(call, max(0, round(timeout * 1e9))) != call:
        _wexec.cancel(call)
        raise Late(f"no answer within {timeout} s", code="tool.timeout", tool=name)
    return _wexec.take(call)


def fetch(method, url, headers, body=None, *, redirect="follow", timeout=None):
    """(status, reason, url, [(name, value)…], body as a binary file, whether it was redirected)"""
    return received(call("wexec:fetch", requested(method, url, headers, body, redirect), timeout), url, timeout)


async def fetch_later(method, url, headers, body=None, *, redirect="follow", timeout=None):
    """fetch as a coroutine; the body is read when it is used."""
    asking = asyncio.get_running_loop().call_host("wexec:fetch", requested(method, url, headers, body, redirect))
    try:
        answer = await asyncio.wait_for(asking, timeout)
    except TimeoutError:
        raise Late(f"no answer within {timeout} s", code="tool.timeout", tool="wexec:fetch") from None
    return received(answer, url, timeout)


def requested(method, url, headers, body, redirect):
    request = {"method": method, "url": url, "headers": [[k, v] for k, v in headers], "redirect": redirect}
    if body:
        request["body"] = base64.b64encode(body).decode("ascii")
    return request


def received(answer, url, timeout):
    if not isinstance(answer, dict) or not isinstance(answer.get("status"), int):
        raise ToolError("the host's answer to a request is invalid", code="upstream.unavailable")
    given = [(str(k), str(v)) for k, v in answer.get("headers") or ()]
    stream = io.BufferedReader(Stream(answer.get("body"), timeout), CHUNK)
    return (answer["status"], answer.get("statusText") or "", answer.get("url") or url, given, stream,
            bool(answer.get("redirected")))


DeniedURL = denied_as(urllib.error.URLError)


class HostHandler(urllib.request.BaseHandler):
    """urllib.request over the host's connections."""

    def open_it(self, request):
        headers = {**request.unredirected_hdrs, **request.headers}
        headers = [(k, v) for k, v in headers.items() if k.lower() not in ("host", "content-length", "connection")]
        body = request.data
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = body.read() if hasattr(body, "read") else b"".join(body)
        timeout = request.timeout if isinstance(request.timeout, (int, float)) else None
        try:
            status, reason, url, given, stream, _ = fetch(request.get_method(), request.full_url, headers, body,
                                                          timeout=timeout)
        except Late as error:
            raise urllib.error.URLError(TimeoutError(str(error))) from error
        except ToolError as error:
            failure = urllib.error.URLError(error.message)
            failure.hint, failure.wexec_code = error.hint, error.code
            raise failure from error
        except PolicyError as error:
            raise DeniedURL(error) from error
        message = Message()
        for name, value in given:
            message[name] = value
        response = urllib.response.addinfourl(stream, message, url, status)
        response.msg = response.reason = reason
        return response

    http_open = https_open = open_it

    def http_request(self, request):
        if request.data is not None and not isinstance(request.data, str):
            if not request.has_header("Content-type"):
                request.add_unredirected_header("Content-type", "application/x-www-form-urlencoded")
        elif request.data is not None:
            raise TypeError("POST data should be bytes, an iterable of bytes, or a file object. It cannot be of type str.")
        return request

    https_request = http_request


def install():
    urllib.request.HTTPHandler = urllib.request.HTTPSHandler = HostHandler
