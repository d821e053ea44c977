"""What Python code sees of wexec, baked into the memory image of the guest.

This module runs once, when the image is made: it imports, installs and freezes.
Later the shim calls three functions of prelude.run: prepare, complete, failed.
Everything else hangs off those, is a module that programs import (tools,
requests, mcp_servers), or takes the place of something that a sandbox does not
have (threads, sockets, processes).
"""

import gc
import sys

# What programs import most. Each costs image size and nothing else until it is
# touched; the modules they pull in come along.
import abc, argparse, array, ast, asyncio, atexit, base64, binascii, bisect, calendar  # noqa: E401,F401
import cmath, collections, collections.abc, concurrent.futures, concurrent.futures.thread  # noqa: E401,F401
import contextlib, contextvars, copy, csv, dataclasses, datetime, decimal, difflib, enum  # noqa: E401,F401
import fnmatch, fractions, functools, glob, hashlib, heapq, hmac, html, inspect, io  # noqa: E401,F401
import ipaddress, itertools, json, keyword, linecache, locale, logging, math, numbers  # noqa: E401,F401
import operator, os, pathlib, pickle, platform, pprint, queue, random, re, secrets, shlex  # noqa: E401,F401
import shutil, signal, statistics, string, struct, tempfile, textwrap, threading, time  # noqa: E401,F401
import traceback, types, typing, unicodedata, unittest.mock, urllib.parse, urllib.request  # noqa: E401,F401
import uuid, warnings, weakref, zlib, zoneinfo  # noqa: E401,F401
import json.decoder, json.encoder, json.scanner, encodings.ascii, encodings.idna  # noqa: E401,F401
import encodings.latin_1, encodings.utf_8_sig, encodings.utf_16, encodings.unicode_escape  # noqa: E401,F401

import _wexec

from . import install

install.everything()

sys.path_importer_cache.pop("/prelude", None)
sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
sys.stderr.reconfigure(line_buffering=True)
gc.collect()
gc.collect()
gc.freeze()
