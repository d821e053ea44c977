"""The part of wexec that is written in Python, baked into the memory image of the guest.

This module runs once, when the image is made: it imports and installs. Then the
shim runs the programs of prelude.warm, and freezes what is there.
Later the shim calls three functions of prelude.run: prepare, complete, failed.
Everything else hangs off those, is a module that programs import (tools,
requests, mcp_servers), or takes the place of something that a sandbox does not
have (threads, sockets, processes).
"""

import sys

# The most common imports. Each costs image size and nothing else until it is
# used; the modules they import are included.
import abc, argparse, array, ast, asyncio, atexit, base64, binascii, bisect, calendar  # noqa: E401,F401
import collections, collections.abc, concurrent.futures, concurrent.futures.thread  # noqa: E401,F401
import contextlib, contextvars, copy, csv, dataclasses, datetime, decimal, enum  # noqa: E401,F401
import fractions, functools, hashlib, heapq, hmac, html, inspect, io, itertools  # noqa: E401,F401
import json, keyword, linecache, logging, math, numbers, operator, os, pathlib  # noqa: E401,F401
import queue, random, re, secrets, statistics, string, struct, tempfile, textwrap  # noqa: E401,F401
import threading, time, traceback, types, typing, urllib.parse, urllib.request  # noqa: E401,F401
import uuid, warnings, weakref, zipimport, zlib, zoneinfo  # noqa: E401,F401
import encodings.ascii, encodings.latin_1, encodings.unicode_escape  # noqa: E401,F401

import _wexec

from . import install

install.everything()

sys.path_importer_cache.pop("/prelude", None)
sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
sys.stderr.reconfigure(line_buffering=True)
atexit._clear()  # the hook of logging; prelude.run calls it when it is needed

# Free space at the end of the memory, so that a small program does not grow it.
room = bytearray(512 << 10)
del room
