#!/usr/bin/env bash
# Installs the MCP servers, type checkers and compilers for tests into work/npm. With
# the argument servers it also installs those that the search is measured on, 760 MB,
# into work/servers. Without npm, those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm >/dev/null || { echo "npm not found: tests with real servers are skipped" >&2; exit 0; }

# install FOLDER PACKAGES [FLAGS]: installs the packages of a list, unless it did.
install() {
  mkdir -p "$1"
  cmp -s "$2" "$1/package.json" && return
  cp "$2" "$1/package.json"
  PUPPETEER_SKIP_DOWNLOAD=1 npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --no-package-lock --fetch-retries=5 --fetch-timeout=120000 --loglevel=error "${@:3}" \
    || { rm -f "$1/package.json"; return 1; }
}
install work/npm tests/npm/package.json
if [ "${1:-}" = servers ]; then
  install work/servers tests/search/package.json --omit=optional --omit=peer --legacy-peer-deps
fi
