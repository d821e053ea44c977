"""Programs that the shim runs before the image is made.

The interpreter adapts its code to what it meets, and remembers where attributes
of types are. What every run does is adapted in the image; otherwise each run
would adapt it again, and write to the pages where the code is.
"""

import json
import sys

from . import state

PROGRAMS = """
1+1
---
return {"a": [1, 2.5, None, True], "b": f"{1 + 1} text"}
---
import json, re, datetime, math, collections
rows = [{"id": i, "name": f"n{i}", "tags": ["x", "y"]} for i in range(5)]
by = {}
for row in rows:
    if row["id"] % 2:
        by[row["name"]] = by.get(row["name"], 0) + row["id"]
text = json.dumps(json.loads(json.dumps(rows)))
sorted(by.items(), key=lambda pair: -pair[1])[:3]
---
def double(x):
    return 2 * x
try:
    int("x")
except ValueError as error:
    message = str(error)
return {"sum": sum(map(double, range(5))), "message": message}
---
import asyncio
async def one(x):
    await asyncio.sleep(0)
    return x
await asyncio.gather(one(1), one(2))
"""

TIMES = 20


def documents():
    """Input documents as the engine writes them."""
    for _ in range(TIMES):
        for program in PROGRAMS.split("---\n"):
            yield json.dumps({
                "code": program.strip(), "file": "main.py", "args": None, "argv": [], "env": {}, "servers": [],
                "session": False, "deterministic": False, "root": "", "packages": "", "cwd": "/tmp", "recursion": 0,
                "fetch": False, "pii": False}, separators=(",", ":")).encode() + b"\n"


def forget():
    """Removes what these programs left, before the first run."""
    state.main = None
    state.input = {}
    state.source = ""
    sys.modules.pop("__main__", None)
