"""What the sandbox does not have: using it raises an error with an alternative."""

import builtins
import importlib.abc
import importlib.machinery
import os
import sys
import types
import _socket
import _thread

CALL_A_TOOL = "processes are not available: call a tool (from tools import …), or write it in Python"
NO_THREADS = "threads are not available: use threading.Thread, which runs functions inline"
NO_SOCKETS = "sockets are not available: call a tool, or use requests or urllib.request and allow the host in the policy under network"
NO_CTYPES = "native code is not available: write it in Python, or call a tool"
NO_COPIES = "file descriptors cannot be duplicated: open the file again, or redirect output with contextlib.redirect_stdout"
NO_PIP = "packages cannot be installed by a program: if it is pure Python, ask the person to add it: wexec packages add PATH"

GONE = {
    "ctypes": NO_CTYPES, "_ctypes": NO_CTYPES, "pip": NO_PIP, "ensurepip": NO_PIP, "venv": NO_PIP,
    "ssl": NO_SOCKETS, "socketserver": NO_SOCKETS, "smtplib": NO_SOCKETS, "ftplib": NO_SOCKETS, "poplib": NO_SOCKETS,
    "imaplib": NO_SOCKETS, "xmlrpc": NO_SOCKETS, "wsgiref": NO_SOCKETS, "concurrent.futures.process": CALL_A_TOOL,
    "pty": CALL_A_TOOL, "fcntl": CALL_A_TOOL, "resource": CALL_A_TOOL, "termios": CALL_A_TOOL,
    "cffi": NO_CTYPES,
}


class Missing(RuntimeError, OSError):
    """Something that the sandbox does not have; .hint names an alternative.

    It is an OSError too, as programs and the library expect of a process that does not
    start or a connection that is not made.
    """

    def __init__(self, what, hint):
        super().__init__(f"{what}: {hint}")
        self.hint = hint


Missing.__module__ = "builtins"
Missing.__name__ = Missing.__qualname__ = "RuntimeError"


def refusal(what, hint):
    """A function that raises Missing."""

    def refuse(*args, **kwargs):
        raise Missing(what, hint)

    refuse.__name__ = refuse.__qualname__ = what.rpartition(".")[2].rstrip("()")
    return refuse


class GoneFinder:
    """Rejects modules that are not available, with an alternative."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hint = GONE.get(name)
        if hint is None:
            return None
        error = ModuleNotFoundError(f"No module named {name!r}", name=name)
        error.hint = hint
        raise error


def install():
    sys.meta_path.append(GoneFinder)
    for name in ("system", "popen", "fork", "forkpty", "execv", "execve", "execl", "execle", "execlp", "execvp", "execvpe",
                 "spawnv", "spawnl", "spawnlp", "spawnvp", "spawnve", "posix_spawn", "startfile"):
        setattr(os, name, refusal(f"os.{name}()", CALL_A_TOOL))
    for name in ("dup", "dup2"):
        setattr(os, name, refusal(f"os.{name}()", NO_COPIES))
    os.P_WAIT, os.P_NOWAIT, os.P_NOWAITO = 0, 1, 1
    os.cpu_count = os.process_cpu_count = lambda: 1
    _thread.start_new_thread = _thread.start_new = refusal("_thread.start_new_thread()", NO_THREADS)
    subprocess()
    socket()


def subprocess():
    import subprocess as module

    for name in ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"):
        setattr(module, name, refusal(f"subprocess.{name}()", CALL_A_TOOL))
    module.Popen.__init__ = refusal("subprocess.Popen()", CALL_A_TOOL)
    module.Popen.__del__ = lambda self: None


def socket():
    import socket as module

    module.socket.__init__ = refusal("socket.socket()", NO_SOCKETS)
    module.socket.__del__ = lambda self: None
    module.gethostname = lambda: "localhost"
    for name in ("create_connection", "create_server", "getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr",
                 "getnameinfo", "socketpair", "fromfd"):
        setattr(module, name, refusal(f"socket.{name}()", NO_SOCKETS))
