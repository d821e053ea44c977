"""A subset of requests, over connections of the host."""

import json as json_module
import sys
import types
import urllib.parse
from http import HTTPStatus
from http.cookiejar import CookieJar

from . import web
from .failures import PolicyError, ToolError, denied_as


class RequestException(OSError):
    """A request that failed."""

    def __init__(self, *args, request=None, response=None):
        super().__init__(*args)
        self.request, self.response = request, response


class HTTPError(RequestException):
    """A response with a status of 400 or more, from raise_for_status()."""


class ConnectionError(RequestException):
    """No response."""


class Timeout(RequestException):
    """No response in time."""


class InvalidURL(RequestException, ValueError):
    """An invalid URL."""


class JSONDecodeError(RequestException, json_module.JSONDecodeError):
    """A body that is not JSON."""

    def __init__(self, msg, doc, pos):
        json_module.JSONDecodeError.__init__(self, msg, doc, pos)
        self.request = self.response = None


class Headers(dict):
    """Headers with case-insensitive names."""

    def __init__(self, pairs=()):
        super().__init__()
        for name, value in pairs.items() if isinstance(pairs, dict) else pairs or ():
            self[name] = f"{self[name]}, {value}" if name in self else value

    def _key(self, name):
        low = str(name).lower()
        return next((k for k in self.keys() if k.lower() == low), name)

    def __getitem__(self, name):
        return super().__getitem__(self._key(name))

    def __setitem__(self, name, value):
        super().__setitem__(self._key(name), value)

    def __contains__(self, name):
        return super().__contains__(self._key(name))

    def get(self, name, default=None):
        return super().get(self._key(name), default)

    def update(self, other=(), **more):
        for name, value in (*Headers(other).items(), *more.items()):
            self[name] = value


class Response:
    """A response; its body is read on first use."""

    def __init__(self, method, status, reason, url, headers, stream, redirected):
        self.status_code, self.reason, self.url = status, reason or phrase(status), url
        self.headers = Headers(headers)
        self.request = types.SimpleNamespace(method=method, url=url)
        self.history = [] if not redirected else [types.SimpleNamespace(status_code=302)]
        self.raw = stream
        self.encoding = charset(self.headers.get("content-type", ""))
        self.cookies = {}
        self._content = None

    @property
    def content(self):
        if self._content is None:
            try:
                self._content = self.raw.read()
            except (ToolError, PolicyError) as error:
                raise self.failure(error) from error
            self.raw.close()
        return self._content

    @property
    def text(self):
        encoding = self.encoding or self.apparent_encoding
        try:
            return self.content.decode(encoding, "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    @property
    def apparent_encoding(self):
        try:
            self.content.decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"
        return "utf-8"

    @property
    def ok(self):
        return self.status_code < 400

    @property
    def is_redirect(self):
        return "location" in self.headers and self.status_code in (301, 302, 303, 307, 308)

    def json(self, **kwargs):
        try:
            return json_module.loads(self.content, **kwargs)
        except json_module.JSONDecodeError as error:
            raise JSONDecodeError(error.msg, error.doc, error.pos) from None

    def raise_for_status(self):
        if self.status_code >= 400:
            who = "Client" if self.status_code < 500 else "Server"
            raise HTTPError(f"{self.status_code} {who} Error: {self.reason} for url: {self.url}", response=self)

    def iter_content(self, chunk_size=8192, decode_unicode=False):
        if self._content is not None:
            size = chunk_size or len(self._content) or 1
            chunks = (self._content[i:i + size] for i in range(0, len(self._content), size))
        else:
            chunks = iter(lambda: self.raw.read(chunk_size or 8192), b"")
        for chunk in chunks:
            yield chunk.decode(self.encoding or "utf-8", "replace") if decode_unicode else chunk

    def iter_lines(self, chunk_size=8192, decode_unicode=False):
        rest = b""
        for chunk in self.iter_content(chunk_size):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                line = line.removesuffix(b"\r")
                yield line.decode(self.encoding or "utf-8", "replace") if decode_unicode else line
        if rest:
            yield rest.decode(self.encoding or "utf-8", "replace") if decode_unicode else rest

    def close(self):
        self.raw.close()

    def __iter__(self):
        return self.iter_content(128)

    def __bool__(self):
        return self.ok

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __repr__(self):
        return f"<Response [{self.status_code}]>"


def phrase(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def charset(content_type):
    kind, *rest = content_type.split(";")
    for part in rest:
        name, _, value = part.strip().partition("=")
        if name.lower() == "charset":
            return value.strip("'\"") or None
    if kind.strip().startswith("text/"):
        return "ISO-8859-1"
    return "utf-8" if "json" in kind else None


DeniedRequest = denied_as(ConnectionError)


def failure(error):
    """What requests raises for a failed call."""
    if isinstance(error, PolicyError):
        return DeniedRequest(error)
    kind = Timeout if error.code == "tool.timeout" else ConnectionError
    made = kind(error.message)
    made.hint, made.wexec_code = error.hint, error.code
    return made


def pairs_of(values):
    items = values.items() if isinstance(values, dict) else values
    return [(k, one) for k, v in items if v is not None for one in (v if isinstance(v, (list, tuple)) else [v])]


def with_query(url, params):
    if not params:
        return url
    query = params if isinstance(params, str) else urllib.parse.urlencode(pairs_of(params))
    head, mark, fragment = url.partition("#")
    return head + ("&" if "?" in head else "?") + query + mark + fragment


def body_of(data, json, headers):
    if json is not None and not data:
        if "content-type" not in headers:
            headers["Content-Type"] = "application/json"
        return json_module.dumps(json, allow_nan=False).encode()
    if data is None:
        return None
    if hasattr(data, "read"):
        data = data.read()
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    if "content-type" not in headers:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    return urllib.parse.urlencode(pairs_of(data)).encode()


Response.failure = staticmethod(failure)


class Session:
    """Headers and authentication that several requests share."""

    _response = Response

    def __init__(self):
        self.headers, self.params, self.auth, self.cookies = Headers(), {}, None, {}
        self.verify, self.proxies = True, {}

    def request(self, method, url, **options):
        method = method.upper()
        sent, how = self._prepared(url, **options)
        try:
            answer = web.fetch(method, *sent, **how)
        except (ToolError, PolicyError) as error:
            raise self._response.failure(error) from error
        return self._response(method, *answer)

    def _prepared(self, url, params=None, data=None, headers=None, cookies=None, files=None, auth=None, timeout=None,
                  allow_redirects=True, proxies=None, hooks=None, stream=None, verify=None, cert=None, json=None):
        """The arguments of web.fetch."""
        if files:
            raise RequestException("multipart uploads are not supported: put the bytes into data")
        if not str(url).lower().startswith(("http://", "https://")):
            raise InvalidURL(f"Invalid URL {url!r}: No scheme supplied. Perhaps you meant https://{url}?")
        sent = Headers(self.headers)
        sent.update(headers or {})
        auth = auth or self.auth
        if auth:
            import base64

            token = base64.b64encode(f"{auth[0]}:{auth[1]}".encode()).decode()
            sent["Authorization"] = "Basic " + token
        jar = {**self.cookies, **(cookies if cookies and not isinstance(cookies, CookieJar) else {})}
        if jar:
            sent["Cookie"] = "; ".join(f"{k}={v}" for k, v in jar.items())
        body = body_of(data, json, sent)
        address = with_query(str(url), {**self.params, **params} if isinstance(params, dict) and self.params else params or self.params)
        if isinstance(timeout, tuple):
            timeout = timeout[-1]
        fields = [(k, str(v)) for k, v in sent.items() if v is not None]
        return (address, fields, body), {"redirect": "follow" if allow_redirects else "manual", "timeout": timeout}

    def get(self, url, **kwargs):
        return self.request("GET", url, **kwargs)

    def options(self, url, **kwargs):
        return self.request("OPTIONS", url, **kwargs)

    def head(self, url, **kwargs):
        kwargs.setdefault("allow_redirects", False)
        return self.request("HEAD", url, **kwargs)

    def post(self, url, data=None, json=None, **kwargs):
        return self.request("POST", url, data=data, json=json, **kwargs)

    def put(self, url, data=None, **kwargs):
        return self.request("PUT", url, data=data, **kwargs)

    def patch(self, url, data=None, **kwargs):
        return self.request("PATCH", url, data=data, **kwargs)

    def delete(self, url, **kwargs):
        return self.request("DELETE", url, **kwargs)

    def mount(self, prefix, adapter):
        pass

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def one_request(name):
    def send(*args, **kwargs):
        return getattr(Session(), name)(*args, **kwargs)

    send.__name__ = send.__qualname__ = name
    return send


def install():
    """The modules requests and requests.exceptions."""
    errors = {e.__name__: e for e in (RequestException, HTTPError, ConnectionError, Timeout, InvalidURL, JSONDecodeError)}
    errors.update(ReadTimeout=Timeout, ConnectTimeout=Timeout, TooManyRedirects=RequestException)
    exceptions = types.ModuleType("requests.exceptions", "What requests raises.")
    exceptions.__dict__.update(errors)
    module = types.ModuleType("requests", __doc__)
    module.__dict__.update(errors, exceptions=exceptions, Session=Session, session=Session, Response=Response,
                           codes=types.SimpleNamespace(ok=200, created=201, not_found=404), __path__=[], __version__="2")
    for name in ("request", "get", "options", "head", "post", "put", "patch", "delete"):
        setattr(module, name, one_request(name))
    for error in errors.values():
        error.__module__ = "requests.exceptions"
    sys.modules["requests"] = module
    sys.modules["requests.exceptions"] = exceptions
