"""Files: what is denied says so, and modules beside the program are found."""

import builtins
import errno
import io
import os
import sys

import _wexec

WRITES = set("wax+")
GRANTED = ("/tmp", "/mcp-servers", "/app", "/lib")


def beyond(path, error):
    """True where a file is missing because its folder was never granted."""
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


original_open = io.open


def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    try:
        return original_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    except FileNotFoundError as error:
        if beyond(file, error):
            raise denied(file) from None
        raise
    except OSError as error:
        if error.errno == errno.EROFS:
            raise denied(file) from None
        raise


def install():
    open.__doc__ = original_open.__doc__
    open.__module__ = "io"
    builtins.open = io.open = open
    _wexec.type_attribute(PermissionError, "code", "denied.file")
