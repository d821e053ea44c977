"""Files: errors of denied files, and imports of modules next to the program."""

import _io
import builtins
import errno
import io
import os
import sys

import _wexec

GRANTED = ("/tmp", "/mcp-servers", "/app", "/packages", "/lib")


def beyond(path):
    """True if a file is missing because the policy does not allow its folder."""
    try:
        path = os.path.abspath(os.fspath(path))
        if isinstance(path, bytes):
            path = os.fsdecode(path)
    except TypeError:
        return False
    top = "/" + path.split("/", 2)[1]
    if path == "/" or path.startswith(GRANTED):
        return False
    try:
        os.stat(top if path.count("/") > 1 else path)
    except OSError:
        return True
    return False


def denied(path):
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def explain(file, error):
    """The error that open() raises, with an explanation."""
    if isinstance(error, FileNotFoundError) and beyond(file) or error.errno == errno.EROFS:
        return denied(file)
    return error


class NativeFinder:
    """Rejects modules that exist as native code only."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        last = name.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            if not isinstance(folder, str) or folder.startswith("/lib/"):
                continue
            try:
                files = os.listdir(folder)
            except OSError:
                continue
            for file in files:
                if file.startswith(last + ".") and file.endswith((".so", ".pyd", ".dylib")):
                    error = ModuleNotFoundError(f"{name} is native code ({file}), which cannot run here", name=name)
                    error.hint = "use a pure Python package, or a tool"
                    raise error
        return None


def install():
    sys.meta_path.append(NativeFinder)
    builtins.open = io.open = _io.open = _wexec.wrap_open(io.open, explain)
    _wexec.type_attribute(PermissionError, "code", "denied.file")
