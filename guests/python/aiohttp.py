"""A subset of aiohttp's client, over connections of the host."""

import json as json_module
import sys
import types

from . import requests, web
from .failures import PolicyError, ToolError, denied_as


class ClientError(Exception):
    """Whatever fails."""


class ClientConnectionError(ClientError, OSError):
    """No response."""


class ServerTimeoutError(ClientConnectionError, TimeoutError):
    """No response in time."""


class ClientResponseError(ClientError):
    """A response with a status of 400 or more, from raise_for_status()."""

    def __init__(self, status, message, url):
        super().__init__(f"{status}, message={message!r}, url={url!r}")
        self.status, self.message, self.request_info = status, message, types.SimpleNamespace(url=url)


DeniedRequest = denied_as(ClientConnectionError)


def failure(error):
    """What aiohttp raises for a failed call."""
    if isinstance(error, PolicyError):
        return DeniedRequest(error)
    made = (ServerTimeoutError if error.code == "tool.timeout" else ClientConnectionError)(error.message)
    made.hint, made.wexec_code = error.hint, error.code
    return made


class Answer(requests.Response):
    """The response under the names of requests."""

    failure = staticmethod(failure)


class ClientResponse:
    """A response; its body is read on first use."""

    def __init__(self, answer):
        self._answer = answer
        self.status, self.reason, self.url, self.headers, self.ok = answer.status_code, answer.reason, answer.url, answer.headers, answer.ok
        self.content_type = answer.headers.get("content-type", "").partition(";")[0]

    async def read(self):
        return self._answer.content

    async def text(self, encoding=None, errors="strict"):
        return self._answer.content.decode(encoding, errors) if encoding else self._answer.text

    async def json(self, *, content_type=None, loads=json_module.loads, **ignored):
        return loads(self._answer.content)

    def raise_for_status(self):
        if not self.ok:
            raise ClientResponseError(self.status, self.reason, self.url)

    def release(self):
        self._answer.close()

    close = release

    def __repr__(self):
        return f"<ClientResponse({self.url}) [{self.status} {self.reason}]>"


class Pending:
    """A request: await it, or use it in async with."""

    def __init__(self, asking):
        self._asking, self._response = asking, None

    def __await__(self):
        return self._asking.__await__()

    async def __aenter__(self):
        self._response = await self._asking
        return self._response

    async def __aexit__(self, *error):
        self._response.release()


class ClientSession(requests.Session):
    """Settings that several requests share."""

    def __init__(self, base_url=None, *, headers=None, cookies=None, auth=None, timeout=None, raise_for_status=False, **ignored):
        super().__init__()
        self.headers.update(headers or {})
        self.cookies, self.auth, self.closed = dict(cookies or {}), auth, False
        self._base, self._timeout, self._raise = str(base_url or ""), timeout, raise_for_status

    def request(self, method, url, **options):
        return Pending(self._ask(method.upper(), str(url), **options))

    async def _ask(self, method, url, *, timeout=None, ssl=None, raise_for_status=None, **options):
        if self._base and "://" not in url:
            url = self._base.rstrip("/") + "/" + url.lstrip("/")
        timeout = self._timeout if timeout is None else timeout
        sent, how = self._prepared(url, timeout=getattr(timeout, "total", timeout), **options)
        try:
            answer = await web.fetch_later(method, *sent, **how)
        except (ToolError, PolicyError) as error:
            raise failure(error) from error
        response = ClientResponse(Answer(method, *answer))
        if self._raise if raise_for_status is None else raise_for_status:
            response.raise_for_status()
        return response

    async def close(self):
        self.closed = True

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        self.closed = True


class ClientTimeout:
    """Seconds that a request may take."""

    def __init__(self, total=None, **ignored):
        self.total = total


def install():
    """The module aiohttp."""
    module = types.ModuleType("aiohttp", __doc__)
    errors = (ClientError, ClientConnectionError, ServerTimeoutError, ClientResponseError)
    module.__dict__.update({e.__name__: e for e in errors}, ClientConnectorError=ClientConnectionError, ClientSession=ClientSession,
                           ClientTimeout=ClientTimeout, ClientResponse=ClientResponse, TCPConnector=lambda **ignored: None,
                           BasicAuth=lambda login, password="", encoding="": (login, password), __version__="0")
    for error in errors:
        error.__module__ = "aiohttp"
    sys.modules["aiohttp"] = module
