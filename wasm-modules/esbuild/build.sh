#!/bin/sh
# Builds the TypeScript compiler as a guest: build.sh
#
# Needs Go. Versions and flags are those of manifest.json and go.mod. Works in
# $WORK/esbuild (default: work/ at the root of the repository) and leaves
# esbuild.wasm there: the raw module, which the baker meters, initialises and
# splits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${WORK:-$root/work}/esbuild
mkdir -p "$work"
cd "$root"

show() { go run ./wasm-modules/bake -guest esbuild -show "$1"; }
toolchain=$(show settings.toolchain)
flags=$(show flags.build)
# shellcheck disable=SC2086
GOTOOLCHAIN=$toolchain GOFLAGS= CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm GOWASM= \
  go build $flags -o "$work/esbuild.wasm" ./wasm-modules/esbuild
