"""Packs the standard library: stdlib.py SOURCE TZDATA SYSCONFIG OUT.

Run by the host build of the same version. Modules are stored as compiled code,
sorted, with one date; nothing in the archive depends on where it was built. The
archive is not compressed: the committed artefact is, and imports are faster.
"""

import importlib.util
import marshal
import os
import pprint
import sys
import zipfile

# What has no meaning in the sandbox: screens, processes, servers, installers,
# tests, and what other systems need.
LEFT_OUT = set("""
    __phello__ _aix_support.py _android_support.py _apple_support.py _ios_support.py _osx_support.py
    antigravity.py cgi.py concurrent/futures/process.py ctypes curses ensurepip ftplib.py idlelib
    imaplib.py lib2to3 msilib multiprocessing nturl2path.py poplib.py pty.py pydoc_data readline.py
    site-packages smtplib.py socketserver.py ssl.py test this.py tkinter tty.py turtle.py
    turtledemo venv webbrowser.py wsgiref xmlrpc
""".split())
DATE = (2026, 1, 1, 0, 0, 0)
MOUNT = "/lib/python313.zip/"
HEADER = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # never checked against a source


def sources(top):
    """(name in the archive, path) of every module that is kept."""
    for folder, folders, files in os.walk(top):
        inside = os.path.relpath(folder, top)
        inside = "" if inside == "." else inside + "/"
        folders[:] = sorted(d for d in folders if d not in ("__pycache__", "test", "tests") and inside + d not in LEFT_OUT)
        for name in sorted(files):
            if name.endswith(".py") and inside + name not in LEFT_OUT:
                yield inside + name, os.path.join(folder, name)


def compiled(name, source):
    code = compile(source, MOUNT + name, "exec", dont_inherit=True, optimize=0)
    # Later formats write references where the process happens to share objects.
    return HEADER + marshal.dumps(code, 2)


def build_settings(folder):
    """sysconfig's data without the values that name folders of the build."""
    name = next(n for n in sorted(os.listdir(folder)) if n.startswith("_sysconfigdata") and n.endswith(".py"))
    space = {}
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        exec(f.read(), space)
    kept = {k: v for k, v in space["build_time_vars"].items() if not (isinstance(v, str) and (len(v) > 100 or "/" in v))}
    return name, "build_time_vars = " + pprint.pformat(kept)


def zones(top):
    """(name, content) of the compiled time zones, and their list."""
    names = []
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            zone = os.path.relpath(path, top)
            names.append(zone)
            with open(path, "rb") as f:
                yield "tzdata/zoneinfo/" + zone, f.read()
    yield "tzdata/zones", "\n".join(sorted(names)).encode()


def main(library, tzdata, sysconfig, out):
    entries = {}
    for name, path in sources(library):
        with open(path, "rb") as f:
            entries[name + "c"] = compiled(name, f.read())
    name, text = build_settings(sysconfig)
    entries[name + "c"] = compiled(name, text)
    entries.update(zones(tzdata))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, DATE)
            info.external_attr = 0o644 << 16
            archive.writestr(info, entries[name])


main(*sys.argv[1:])
