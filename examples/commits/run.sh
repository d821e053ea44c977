#!/bin/sh
# Runs the commits job and prints its statistics. `make` builds the programs first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export DEMO_SERVER="${DEMO_SERVER:-$top/bin/demo-server}"
exec "${WEXEC:-$top/bin/wexec}" run --mcp "$here/mcp.json" --policy "$here/policy.yaml" --stats "$here/${1:-commits.js}"
