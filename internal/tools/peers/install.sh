#!/usr/bin/env bash
# Installs the peers of package.json into work/peers. Building isolated-vm needs
# make, g++, python3 and the headers of Node.
set -euo pipefail
cd "$(dirname "$0")/../../.."
command -v npm >/dev/null || { echo "npm not found: peers from npm are skipped" >&2; exit 0; }
mkdir -p work/peers
if ! cmp -s internal/tools/peers/package.json work/peers/package.json; then
  cp internal/tools/peers/package.json work/peers/package.json
  npm install --prefix work/peers --no-audit --no-fund --no-package-lock --fetch-retries=5 --loglevel=error \
    || { rm -f work/peers/package.json; exit 1; }
fi
