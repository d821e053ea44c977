"""Standard functions that have a faster form here, with the same behaviour."""

import json

import _wexec


def install():
    _wexec.json_originals(json.loads, json.dumps)
    json.loads = _wexec.loads
    json.dumps = _wexec.dumps
