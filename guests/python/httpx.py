"""A subset of httpx, over connections of the host."""

import sys
import types

from . import requests, web
from .failures import PolicyError, ToolError, denied_as


class HTTPError(Exception):
    """Whatever fails."""


class RequestError(HTTPError):
    """No response."""


class ConnectError(RequestError):
    """No connection."""


class TimeoutException(RequestError):
    """No response in time."""


class HTTPStatusError(HTTPError):
    """A response with a status of 400 or more, from raise_for_status()."""

    def __init__(self, message, *, request, response):
        super().__init__(message)
        self.request, self.response = request, response


DeniedRequest = denied_as(ConnectError)


def failure(error):
    """What httpx raises for a failed call."""
    if isinstance(error, PolicyError):
        return DeniedRequest(error)
    made = (TimeoutException if error.code == "tool.timeout" else ConnectError)(error.message)
    made.hint, made.wexec_code = error.hint, error.code
    return made


class Response(requests.Response):
    """A response; its body is read on first use."""

    failure = staticmethod(failure)
    reason_phrase = property(lambda self: self.reason)
    is_success = property(lambda self: 200 <= self.status_code < 300)
    is_error = property(lambda self: self.status_code >= 400)
    is_client_error = property(lambda self: 400 <= self.status_code < 500)
    is_server_error = property(lambda self: self.status_code >= 500)

    def raise_for_status(self):
        if self.is_error:
            raise HTTPStatusError(f"{self.status_code} {self.reason} for url {self.url}", request=self.request, response=self)
        return self

    def read(self):
        return self.content

    async def aread(self):
        return self.content


class Client(requests.Session):
    """Settings that several requests share."""

    _response = Response

    def __init__(self, *, base_url="", headers=None, params=None, cookies=None, auth=None, timeout=5.0, follow_redirects=False, **ignored):
        super().__init__()
        self.base_url, self.timeout, self.follow_redirects = str(base_url), timeout, follow_redirects
        self.headers.update(headers or {})
        self.params, self.cookies, self.auth = dict(params or {}), dict(cookies or {}), auth

    def _prepared(self, url, *, content=None, data=None, timeout=None, follow_redirects=None, **options):
        url = str(url)
        if self.base_url and "://" not in url:
            url = self.base_url.rstrip("/") + "/" + url.lstrip("/")
        timeout = self.timeout if timeout is None else timeout
        return super()._prepared(url, data=content if data is None else data, timeout=getattr(timeout, "seconds", timeout),
                                 allow_redirects=self.follow_redirects if follow_redirects is None else follow_redirects, **options)

    def head(self, url, **options):
        return self.request("HEAD", url, **options)


class AsyncClient(Client):
    """Client whose requests are coroutines, which overlap."""

    async def request(self, method, url, **options):
        method = method.upper()
        sent, how = self._prepared(url, **options)
        try:
            answer = await web.fetch_later(method, *sent, **how)
        except (ToolError, PolicyError) as error:
            raise failure(error) from error
        return Response(method, *answer)

    async def aclose(self):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        pass


class Timeout:
    """Seconds that a request may take."""

    def __init__(self, timeout=None, *, connect=None, read=None, write=None, pool=None):
        given = [t for t in (timeout, connect, read, write, pool) if t is not None]
        self.seconds = max(given) if given else None


def one_request(name):
    def send(*args, **options):
        keep = {k: options.pop(k) for k in ("follow_redirects", "timeout", "auth", "cookies") if k in options}
        return getattr(Client(**keep), name)(*args, **options)

    send.__name__ = send.__qualname__ = name
    return send


def install():
    """The module httpx."""
    module = types.ModuleType("httpx", __doc__)
    errors = (HTTPError, RequestError, ConnectError, TimeoutException, HTTPStatusError)
    module.__dict__.update({e.__name__: e for e in errors}, TransportError=RequestError, NetworkError=ConnectError, ReadTimeout=TimeoutException,
                           ConnectTimeout=TimeoutException, Client=Client, AsyncClient=AsyncClient, Response=Response, Timeout=Timeout,
                           Headers=requests.Headers, codes=types.SimpleNamespace(OK=200, CREATED=201, NOT_FOUND=404), __version__="0")
    for name in ("request", "get", "options", "head", "post", "put", "patch", "delete"):
        setattr(module, name, one_request(name))
    for error in errors:
        error.__module__ = "httpx"
    sys.modules["httpx"] = module
