"""Puts everything in place before the image is made."""

import asyncio
import builtins
import sys

import _wexec

from . import dropins, failures, loop, report, run, tools, values


def everything():
    _wexec.hooks(values.natural, failures.from_answer, failures.with_bytes, run.prepare, run.complete, run.failed,
                 report.Stalled)
    loop.install()
    dropins.install()
    helpers = {"ToolError": failures.ToolError, "PolicyError": failures.PolicyError}
    module = tools.install(helpers, {})
    builtins.__dict__.update(helpers, tools=module, asyncio=asyncio, exit=sys.exit, quit=sys.exit)
