"""Installs the prelude before the image is made."""

import asyncio
import builtins
import sys

import _wexec

from . import aiohttp, dateutil, denied, dropins, failures, files, helpers, httpx, loop, report, requests, run, subsets, threads, tools, values, web, yaml_dump


def everything():
    _wexec.hooks(values.natural, failures.from_answer, failures.with_bytes, run.prepare, run.complete, run.failed,
                 report.Stalled, loop.given)
    loop.install()
    dropins.install()
    web.install()
    requests.install()
    httpx.install()
    aiohttp.install()
    files.install()
    module = tools.install(helpers.HELPERS, helpers.ASYNC_HELPERS)
    denied.install()
    yaml_dump.install()
    dateutil.install()
    subsets.install()
    threads.install()
    builtins.__dict__.update(helpers.HELPERS, tools=module, asyncio=asyncio, exit=sys.exit, quit=sys.exit)
