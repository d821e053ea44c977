#!/usr/bin/env bash
# The tests of what depends on the processor, on an arm64 that qemu makes:
# mappings and memories, the fuel rewriter, and the engine with both guests on
# wazero's arm64 compiler. Times mean nothing there, so tests of times are left
# out. About five minutes on two cores; needs qemu-user-static.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64); then
  if [ "$(id -u)" != 0 ] || ! apt-get install -y -qq --no-install-recommends qemu-user-static >/dev/null; then
    echo "there is no qemu-aarch64: install qemu-user-static" >&2
    exit 1
  fi
  qemu=$(command -v qemu-aarch64-static)
fi
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
export CGO_ENABLED=0

# emulated PACKAGE PATTERN runs the tests of a package that a pattern names.
emulated() {
  GOARCH=arm64 go test -c -o "$bin/arm64.test" "./$1"
  echo "== $1"
  (cd "$1" && "$qemu" "$bin/arm64.test" -test.short -test.timeout 15m -test.run "$2")
}

emulated fault .
emulated internal/snapshot .
emulated internal/meter 'Fuel|Hostile|Golden|Refuse'
emulated policy 'Glob|Layer|Parse|Decide'
emulated engine 'Plugin|ExactAtTheEdge|MemoryBeyond|CutAtAWhole|Traps|ErrorsPoint|RequestsThat|GivesItsValue|PersonalData|InputAndStreamed|Warm|Tables|Session|Replay|Cache|Skeleton|FuelOfThePrograms'
