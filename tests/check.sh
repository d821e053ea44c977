#!/usr/bin/env bash
# All checks that a change must pass. Prints each part with its time, continues
# after a failure, and ends with the totals. Skipped tests are counted, and a skip
# that is not expected fails its part (internal/tools/skips).
set -uo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 # as in the build of the command; only the race detector needs cgo
GOFLAGS="$(go env GOFLAGS) -trimpath" && export GOFLAGS # as in the Makefile: shares the build cache
SKIPS_TOTAL=$(mktemp) && export SKIPS_TOTAL
trap 'rm -f "$SKIPS_TOTAL"' EXIT

# ONLY is a pattern of parts to run: ONLY='vet|linters' tests/check.sh
passed=0 failed=0 broken=() times=()
part() {
  local name=$1 how; shift
  [[ $name =~ ${ONLY:-.} ]] || return 0
  local start=$SECONDS
  printf '== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1)) how=ok
  else
    failed=$((failed + 1)) how=FAILED broken+=("$name")
  fi
  times+=("$(printf '%5ds  %-6s  %s' $((SECONDS - start)) $how "$name")")
  printf -- '-- %s: %s, %ds\n' "$name" $how $((SECONDS - start))
}

# tests runs go test and checks the skips; "short" as the first argument is -short.
tests() {
  local -a how=()
  if [ "$1" = short ]; then how=(-short); shift; fi
  go test "${how[@]}" -json "$@" | go run ./internal/tools/skips "${how[@]}"
}
python_tests() {
  if [ ! -d work/cpython/testsuite ] && command -v apt-get >/dev/null; then
    ./wasm-modules/cpython/build.sh fetch unpack testsuite || echo "the CPython test suite cannot be downloaded"
  fi
}
tidy() { go mod tidy -diff; }
formatted() {
  local out
  out=$(git ls-files '*.go' | xargs -r gofmt -l)
  [ -z "$out" ] || { printf 'not gofmt formatted:\n%s\n' "$out"; return 1; }
}
# The part vet covers this platform. Other architectures of a system are only built.
platforms() {
  local pair host
  host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
  for pair in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
    [ $pair = "$host" ] || GOOS=${pair%/*} GOARCH=${pair#*/} go vet ./... || { echo "does not build for $pair"; return 1; }
  done
  for pair in darwin/amd64 windows/arm64; do
    [ $pair = "$host" ] || GOOS=${pair%/*} GOARCH=${pair#*/} go build ./... || { echo "does not build for $pair"; return 1; }
  done
}
linters() { go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --allow-parallel-runners ./...; }
# Tests that -short skips or shortens: the gate without each of its steps, damaged caches, 200 kills, 100 programs that go on, 50 MB through the sandbox, blobs of 500 MB, servers that are killed, on full disks, and on PostgreSQL.
long() { tests -count=1 -timeout 30m ./tests/attack ./tests/faults ./tests/doors/cases && tests -count=1 -run "HostsWorkIsBounded|HostFunctionHasARow|GoesOnFromEachOfItsRecords" ./engine && tests -count=1 -run LargeBlob ./store/blobs && tests -count=1 -run 'AKilledServer|AFullDiskStops|GoesOnAfterItsServer' ./tests/doors && tests -count=1 -run 'OnPostgreSQL|DatabaseThatIsLost' ./service ./cmd/wexec/httpd; }
# The tests of the engine on wazero's interpreter, and with copied instead of mapped memories.
elsewhere() {
  local on
  for on in interpreter portable; do WEXEC_TEST_ON=$on tests short -count=1 ./engine/... || { echo "with WEXEC_TEST_ON=$on"; return 1; }; done
}
# Plugins in other languages are built from source. Rust comes from Debian.
plugins() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ ! -d /usr/lib/rustlib/wasm32-unknown-unknown ]; then
    apt-get install -y -qq --no-install-recommends rustc libstd-rust-dev-wasm32 lld-14 >/dev/null || echo "cannot install Rust: its plugin is not tested"
  fi
  tests -count=1 -run PluginsInOtherLanguages ./engine/...
}
race() { CGO_ENABLED=1 tests short -race -timeout 25m $(go list ./... | grep -v -e /tests -e /internal/tools -e /examples -e /guests -e /wasm-modules); }
long_race() { CGO_ENABLED=1 tests -race -timeout 25m -skip "RepeatedBitForBit|Soak|HostsWorkIsBounded" ./engine/...; }
# make soak and make soak-serve store the output of longer ones in docs.
soak() { WEXEC_SOAK=2m go test -count=1 -run 'TestSoak$' -v ./engine && WEXEC_SOAK=40s go test -count=1 -run 'TestSoak$' -v ./cmd/wexec/mcpd && WEXEC_SOAK=1m go test -count=1 -run 'TestSoak$' -v ./cmd/wexec/httpd; }
fuzz() { ./tests/fuzz.sh 4s; }
benchmarks() { go test -short -run '^$' -bench . -benchtime 1x ./...; }

part "npm packages for tests" ./tests/npm.sh
part "S3 server for tests" ./tests/s3.sh
# Prefer the Node of package.json to an installed one.
for node in work/npm/node_modules/node-linux-*/bin; do
  [ ! -x "$node/node" ] || export PATH="$PWD/$node:$PATH"
done
part "CPython test suite" python_tests
part "gofmt" formatted
part "go mod tidy" tidy
part "vet" go vet ./...
part "linters" linters
part "build" make build
part "test" tests short ./...
part "programs compared with Node and Python" tests -count=1 -run 'ProgramsAgreeWithNode|ProgramsPrintWhatPythonPrints|PythonsOwnTestsPass' ./guests/...
part "interpreter and portable snapshots" elsewhere
part "fresh clone" tests -count=1 -run FreshClone ./tests
part "plugins in C, Go and Rust" plugins
part "real servers, type checkers and deployment" tests -count=1 -timeout 20m ./tests/servers ./tests/deploy
part "long attacks, faults and cases" long
part "race" race
part "race, long tests of the engine" long_race
part "soak of the engine and the servers" soak
part "platforms" platforms
part "fuzz" fuzz
part "benchmarks once" benchmarks
part "release" tests -count=1 ./cmd/release
part "speed against the base commit" go run ./internal/tools/budgets

printf '%s\n' "${times[@]}"
printf '%5ds  total\n' $SECONDS
awk '{ n += $1 } END { printf "%d tests skipped\n", n }' "$SKIPS_TOTAL"
[ $failed -eq 0 ] || printf 'failed: %s\n' "${broken[*]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ $failed -eq 0 ]
