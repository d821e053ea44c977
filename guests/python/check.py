"""Checks a program without running it: which tools does it refer to, and where?"""

import ast
import math

from .helpers import HELPERS

LIMIT = 1000
ROOM = 100_000  # about the bytes of all forms, and ten for each value


class Forms:
    """The forms of arguments: a literal's own, {} of a computed value, and
    {fields, open} of an object, which is open if it may have other fields."""

    def __init__(self):
        self.room = ROOM

    def of(self, node):
        self.room -= 10
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self.constant(-value)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self.list(items)
            case ast.Dict(keys=keys, values=values):
                return self.object(keys, values)
        return {}

    def constant(self, value):
        match value:
            case str():
                self.room -= len(value)
            case float():
                value = value if math.isfinite(value) else {}
            case int():
                value = value if value.bit_length() <= 1000 else {}
            case None:
                pass
            case _:
                value = {}
        return value if self.room >= 0 else {}

    def list(self, items):
        if self.room < 0 or any(isinstance(item, ast.Starred) for item in items):
            return {}
        return [self.of(item) for item in items]

    def object(self, keys, values):
        """The form of a dict. After a key that is computed, or `**`, nothing is known of
        the fields before."""
        fields, is_open = {}, False
        for key, value in zip(keys, values):
            match key:
                case ast.Constant(value=str(name)) if self.room >= 0:
                    self.room -= len(name)
                    fields[name] = self.of(value)
                case _:
                    fields, is_open = {}, True
        return {"fields": fields, "open": is_open}

    def arguments(self, call):
        """The form of the arguments as a tool sends them."""
        keywords = sorted(call.keywords, key=lambda keyword: keyword.arg is not None)  # `**` replaces none of the others
        keys = [keyword.arg and ast.Constant(keyword.arg) for keyword in keywords]
        named = [keyword.value for keyword in keywords]
        match call.args:
            case []:
                return self.object(keys, named)
            case [ast.Dict(keys=first, values=values)]:
                return self.object(first + keys, values + named)
            case [value] if not keys:
                form = self.of(value)  # {} may be a dict
                return form if form == {} else [form]
        return {} if keys else self.list(call.args)


def named(source, file):
    """The tools that a program refers to: rows of [server, tool, line, column, explicit, arguments], columns from 1.

    The arguments are the form of those of a call, and None if the tool is not called there.
    A call of a name that is not under `tools` may be the program's own; it is reported
    if the program never binds the name, and explicit is False.
    """
    tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    whole, servers, functions, bound, found = {"tools"}, {}, {}, set(), []
    calls, forms = {}, Forms()
    lines = source.split("\n")

    def add(server, tool, node, sure):
        if server not in HELPERS and len(found) < LIMIT:
            text = lines[node.lineno - 1].encode()[:node.col_offset] if node.lineno <= len(lines) else b""
            found.append([server, tool, node.lineno, len(text.decode(errors="replace")) + 1, sure,
                          forms.arguments(calls[node]) if node in calls else None])

    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="tools" | "tools.aio", level=0):
                for name in node.names:
                    if name.name == "aio":
                        whole.add(name.asname or name.name)
                    elif name.name != "*":
                        servers[name.asname or name.name] = name.name
            case ast.ImportFrom(module=str(module), level=0) if module.startswith("tools."):
                server = module.removeprefix("tools.").removeprefix("aio.")
                for name in node.names:
                    if name.name != "*":
                        add(server, name.name, node, True)
                        functions[name.asname or name.name] = server, name.name
            case ast.Import():
                for name in node.names:
                    if name.name in ("tools", "tools.aio") and name.asname:
                        whole.add(name.asname)
                    elif name.name.split(".")[0] != "tools":
                        bound.add((name.asname or name.name).split(".")[0])
            case ast.ImportFrom():
                bound.update(name.asname or name.name for name in node.names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.Call(func=func):
                calls[func] = node

    def is_whole(node):
        match node:
            case ast.Name(id=name):
                return name in whole and name not in bound
            case ast.Attribute(value=value, attr="aio"):
                return is_whole(value)
        return False

    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Attribute(value=top, attr=server), attr=tool) if is_whole(top) and server != "aio":
                add(server, tool, node, True)
            case ast.Call(func=ast.Name(id=name) as func) if name in functions and name not in bound:
                add(*functions[name], func, True)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=tool)):
                if name in servers:
                    if name not in bound:
                        add(servers[name], tool, node.func, True)
                elif name not in bound and name not in whole:
                    add(name, tool, node.func, False)
    return found
