"""Checks a program without running it: which tools does it refer to, and where?"""

import ast

from .helpers import HELPERS

LIMIT = 1000


def named(source, file):
    """The tools that a program refers to: rows of [server, tool, line, column, explicit], columns from 1.

    A call of a name that is not under `tools` may be the program's own; it is reported
    if the program never binds the name, and explicit is False.
    """
    tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    whole, servers, functions, bound, found = {"tools"}, {}, {}, set(), []
    lines = source.split("\n")

    def add(server, tool, node, sure):
        if server not in HELPERS and len(found) < LIMIT:
            text = lines[node.lineno - 1].encode()[:node.col_offset] if node.lineno <= len(lines) else b""
            found.append([server, tool, node.lineno, len(text.decode(errors="replace")) + 1, sure])

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
                        functions[name.asname or name.name] = name.name
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
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=tool)):
                if name in servers:
                    if name not in bound:
                        add(servers[name], tool, node.func, True)
                elif name not in bound and name not in whole:
                    add(name, tool, node.func, False)
    return found
