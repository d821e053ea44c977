"""The modules tools, tools.aio and mcp_servers."""

import asyncio
import builtins
import inspect
import re
import sys
import types
from importlib.machinery import ModuleSpec

import _wexec

from . import state
from .failures import PolicyError, ToolError

NO_SUCH = "has no attribute"


def packed(args, kwargs):
    """The arguments of a call: an object if they are named, else an array."""
    if not args:
        return kwargs
    if len(args) == 1 and type(args[0]) is dict:
        return {**args[0], **kwargs} if kwargs else args[0]
    if kwargs:
        raise TypeError("a tool takes its arguments by name: all of them, or one dict")
    return list(args)


def tool_name(name):
    """The name, unless it is one of the prelude's own calls, which are not tools."""
    if name.startswith("wexec:"):
        raise ToolError(f"there is no tool {name}", code="tool.unknown", tool=name)
    return name


class Tool:
    """A tool: call it with the names of its arguments."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = tool_name(name)

    def __call__(self, /, *args, **kwargs):
        return _wexec.call(self._name, packed(args, kwargs) if args else kwargs)

    def later(self, /, *args, **kwargs):
        """The call as a coroutine."""
        return coroutine_of(self._name, packed(args, kwargs))

    @property
    def __name__(self):
        return self._name.rpartition(".")[2]

    @property
    def __doc__(self):
        return documentation(self._name)

    def __getattr__(self, name):
        if name == "call":  # common in other sandboxes
            return self
        raise AttributeError(f"tool {self._name} {NO_SUCH} {name!r}: it is called, {self._name}(…)", name=name, obj=self)

    def __repr__(self):
        return f"<tool {self._name}>"

    def __eq__(self, other):
        return type(other) is type(self) and other._name == self._name

    def __hash__(self):
        return hash(self._name)


class AsyncTool(Tool):
    """A tool as a coroutine function."""

    __slots__ = ()
    _is_coroutine_mark = inspect._is_coroutine_mark

    def __call__(self, /, *args, **kwargs):
        return coroutine_of(self._name, packed(args, kwargs))

    def __repr__(self):
        return f"<async tool {self._name}>"


def coroutine_of(name, arguments):
    """call_later under the tool's name, which messages about it show."""
    coroutine = call_later(name, arguments)
    coroutine.__qualname__ = name
    return coroutine


async def call_later(name, arguments):
    return await asyncio.get_running_loop().call_host(name, arguments)


def documentation(name):
    try:
        entry = _wexec.call("wexec:describe", {"name": name})
    except (ToolError, PolicyError):
        return None
    if isinstance(entry, dict):
        return entry.get("declaration") or entry.get("description") or entry.get("summary")
    return None


class Server:
    """The tools of one server as attributes."""

    def __init__(self, name, kind):
        self.__dict__["_server"] = (name, kind)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"server {self._server[0]!r} {NO_SUCH} {name!r}", name=name, obj=self)
        server, kind = self._server
        tool = self.__dict__[name] = kind(f"{server}.{name}")
        return tool

    def __getitem__(self, name):
        return self.__getattr__(name)

    def __dir__(self):
        return names_of(self._server[0])

    def __iter__(self):
        return iter(names_of(self._server[0]))

    def __repr__(self):
        return f"<server {self._server[0]}>"


def by_name(name):
    """The tool with a name as other sandboxes spell it: server.tool, server__tool, mcp__server__tool."""
    name = str(name).removeprefix("mcp__")
    if "." not in name:
        server, _, tool = name.partition("__")
        name = f"{server_name(server) or server}.{tool}" if tool else name
    return Tool(name)


def call_tool(name, arguments=None, /, **kwargs):
    """A tool by its name: call_tool("github.list_commits", {"limit": 10})."""
    return by_name(name)(**{**(arguments or {}), **kwargs})


SPELLED = re.compile(r"\b(?:mcp__)?([A-Za-z]\w*?)__([A-Za-z]\w*)\s*\(")


def known_names(source):
    """What a program finds without importing it: servers, and the tools that it spells server__tool."""
    if not state.servers:
        return {}
    names = {name: server for name, server in servers_of(PARENTS[""]).items() if name not in builtins.__dict__}
    if "__" in source:
        for match in SPELLED.finditer(source):
            if server_name(match[1]):
                spelled = match[0].rstrip("(").rstrip()
                names[spelled] = by_name(spelled)
    return names


def names_of(server):
    try:
        names = _wexec.call("wexec:names", {"server": server})
    except (ToolError, PolicyError):
        return []
    return [n for n in names if isinstance(n, str)] if isinstance(names, list) else []


def server_name(name):
    """The server with this spelling, or None."""
    if name in state.servers:
        return name
    plain = name.replace("_", "").lower()
    for server in state.servers:
        if server.replace("_", "").lower() == plain:
            return server
    return None


class ServersModule(types.ModuleType):
    """A module whose attributes are servers."""

    _kind = Tool

    def __getattr__(self, name):
        server = None if name.startswith("__") else server_name(name)
        if server is None:
            raise AttributeError(f"module {self.__name__!r} {NO_SUCH} {name!r}", name=name, obj=self)
        return servers_of(self)[server]

    def __getitem__(self, name):
        return self.__getattr__(name)

    def __iter__(self):
        return iter(state.servers)

    def __dir__(self):
        return [*state.servers, *(n for n in self.__dict__ if not n.startswith("_"))]


def servers_of(module):
    """The server objects of a module, made on first use."""
    known = module.__dict__["_servers"]
    for name in state.servers:
        if name not in known:
            known[name] = Server(name, module._kind)
    return known


class ToolsModule(ServersModule):
    """The module tools: servers and helpers."""

    def call(self, name, arguments=None, /, **kwargs):
        """A tool by its whole name: tools.call("github.list_commits", limit=10)."""
        return _wexec.call(tool_name(name), {**(arguments or {}), **kwargs})


class AsyncTools(ServersModule):
    """The module tools.aio: the tools as coroutines."""

    _kind = AsyncTool

    async def call(self, name, arguments=None, /, **kwargs):
        return await call_later(tool_name(name), {**(arguments or {}), **kwargs})


class ServerFinder:
    """Finds tools.SERVER, tools.aio.SERVER, mcp_servers.SERVER and servers.SERVER as modules, and
    SERVER if no module has that name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        head, _, last = name.rpartition(".")
        parent = PARENTS.get(head)
        if parent is None:
            return None
        server = server_name(last)
        return ModuleSpec(name, ServerFinder, origin=server) if server else None

    @staticmethod
    def create_module(spec):
        parent = PARENTS[spec.name.rpartition(".")[0]]
        module = ServerModule(spec.name, None)
        module.__dict__["_of"] = servers_of(parent)[spec.origin]
        return module

    @staticmethod
    def exec_module(module):
        module.__path__ = []


class ServerModule(types.ModuleType):
    """import tools.github: a module whose attributes are tools."""

    def __getattr__(self, name):
        return getattr(self.__dict__["_of"], name)

    def __dir__(self):
        return dir(self.__dict__["_of"])


PARENTS = {}


def make(kind, name):
    module = kind(name, kind.__doc__)
    module.__dict__.update(_servers={}, __path__=[])
    sys.modules[name] = module
    PARENTS[name] = module
    return module


def install(helpers, async_helpers):
    """Installs the modules; helpers can be imported from tools as well."""
    tools = make(ToolsModule, "tools")
    aio = make(AsyncTools, "tools.aio")
    make(ServersModule, "mcp_servers")
    make(ServersModule, "servers")
    PARENTS[""] = tools
    tools.__dict__.update(helpers, aio=aio)
    aio.__dict__.update(helpers)
    aio.__dict__.update(async_helpers)
    sys.meta_path.append(ServerFinder)
    return tools
