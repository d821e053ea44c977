#!/usr/bin/env bash
# Runs architecture-dependent tests on arm64 in qemu: memory mappings, the fuel
# rewriter, and the engine with both guests on the arm64 compiler of wazero. Tests
# of durations are excluded, since qemu is slow. Takes about five minutes on two
# cores and needs qemu-user-static.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64); then
  if [ "$(id -u)" != 0 ] || ! apt-get install -y -qq --no-install-recommends qemu-user-static >/dev/null; then
    echo "qemu-aarch64 not found; install qemu-user-static" >&2
    exit 1
  fi
  qemu=$(command -v qemu-aarch64-static)
fi
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
export CGO_ENABLED=0

# emulated PACKAGE PATTERN runs the tests of a package that match the pattern.
emulated() {
  GOARCH=arm64 go test -c -o "$bin/arm64.test" "./$1"
  echo "== $1"
  (cd "$1" && "$qemu" "$bin/arm64.test" -test.short -test.timeout 15m -test.run "$2")
}

emulated fault .
emulated internal/snapshot .
emulated internal/meter 'Fuel|Hostile|Golden|Refuse'
emulated policy 'Glob|Layer|Parse|Decide'
for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./engine/...); do
  emulated "${package#"$PWD"/}" 'Plugin|ExactAtTheEdge|MemoryBeyond|CutAtAWhole|Traps|ErrorsPoint|RequestsThat|GivesItsValue|PersonalData|InputAndStreamed|Warm|Tables|Session|Replay|Cache|Stub|FuelOfThePrograms'
done
