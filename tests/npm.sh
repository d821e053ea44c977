#!/usr/bin/env bash
# Installs the MCP servers, type checkers and compilers for tests into work/npm.
# Without npm, those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm >/dev/null || { echo "npm not found: tests with real servers are skipped" >&2; exit 0; }
mkdir -p work/npm
if ! cmp -s tests/npm/package.json work/npm/package.json; then
  cp tests/npm/package.json work/npm/package.json
  PUPPETEER_SKIP_DOWNLOAD=1 npm install --prefix work/npm --ignore-scripts --no-audit --no-fund --no-package-lock --fetch-retries=5 --fetch-timeout=120000 --loglevel=error \
    || { rm -f work/npm/package.json; exit 1; }
fi
