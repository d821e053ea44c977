#!/usr/bin/env bash
# Everything that must hold before a change lands. Prints each part with the
# time it took, goes on after a failure so that all are seen, and ends with the
# totals.
set -uo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 # as the command is built; only the race detector needs it
GOFLAGS="$(go env GOFLAGS) -trimpath" && export GOFLAGS # as well, so that nothing is compiled twice

# ONLY names parts by a pattern: ONLY='vet|linters' tests/check.sh
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

python_tests() {
  if [ ! -d work/cpython/testsuite ] && command -v apt-get >/dev/null; then
    ./wasm-modules/cpython/build.sh fetch unpack testsuite || echo "they cannot be had here: that comparison is left out"
  fi
}
formatted() {
  local out
  out=$(git ls-files '*.go' | xargs -r gofmt -l)
  [ -z "$out" ] || { printf 'not gofmt formatted:\n%s\n' "$out"; return 1; }
}
platforms() { # vet has looked at this one; two architectures of a system differ in few files
  local pair own
  own=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
  for pair in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
    [ $pair = "$own" ] || GOOS=${pair%/*} GOARCH=${pair#*/} go vet ./... || { echo "does not build for $pair"; return 1; }
  done
  for pair in darwin/amd64 windows/arm64; do
    [ $pair = "$own" ] || GOOS=${pair%/*} GOARCH=${pair#*/} go build ./... || { echo "does not build for $pair"; return 1; }
  done
}
linters() { go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --allow-parallel-runners ./...; }
# What -short leaves out: each step of the gate taken out in turn, damaged cache folders, 200 kills, 50 MB through the sandbox.
long() { go test -count=1 -timeout 20m ./tests/attack ./tests/faults ./tests/doors/cases; }
# The engine's tests once more: on wazero's interpreter, and with memories that are copied as where none can be mapped.
elsewhere() {
  local on
  for on in interpreter portable; do WEXEC_TEST_ON=$on go test -short -count=1 ./engine || { echo "with WEXEC_TEST_ON=$on"; return 1; }; done
}
# Foreign plugins are built from source where the compilers are; Debian's can be had.
plugins() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ ! -d /usr/lib/rustlib/wasm32-unknown-unknown ]; then
    apt-get install -y -qq --no-install-recommends rustc libstd-rust-dev-wasm32 lld-14 >/dev/null || echo "no Rust compiler can be had: its plugin is left out"
  fi
  go test -count=1 -run PluginsInOtherLanguages -v ./engine | grep -v -e '^===' -e '^PASS'
  return "${PIPESTATUS[0]}"
}
race() { CGO_ENABLED=1 go test -short -race -timeout 25m $(go list ./... | grep -v -e /tests -e /internal/tools -e /examples -e /guests -e /wasm-modules); }
long_race() { CGO_ENABLED=1 go test -race -timeout 25m -skip 'RepeatedBitForBit|Soak' ./engine; }
soak() { WEXEC_SOAK=2m go test -count=1 -run 'TestSoak$' -v ./engine; } # make soak writes it down
fuzz() { ./tests/fuzz.sh 10s; }
benchmarks() { go test -short -run '^$' -bench . -benchtime 1x ./...; }

part "npm packages for tests" ./tests/npm.sh
# The Node of package.json before the machine's, which may be of another age.
for node in work/npm/node_modules/node-linux-*/bin; do
  [ ! -x "$node/node" ] || export PATH="$PWD/$node:$PATH"
done
part "CPython's own tests, to run in the guest" python_tests
part "gofmt" formatted
part "vet" go vet ./...
part "linters" linters
part "test" make test
part "programs beside Node and Python" go test -count=1 -run 'ProgramsAgreeWithNode|ProgramsPrintWhatPythonPrints|PythonsOwnTestsPass' ./guests/...
part "interpreter and portable snapshots" elsewhere
part "fresh clone" go test -count=1 -run FreshClone ./tests
part "plugins in C, Go and Rust" plugins
part "real servers and type checkers" go test -count=1 ./tests/servers
part "long attacks, faults and cases" long
part "race" race
part "race, the engine's long tests" long_race
part "soak, two minutes" soak
part "platforms" platforms
part "fuzz" fuzz
part "benchmarks once" benchmarks
part "release" go test -count=1 ./cmd/release
part "speed against the baseline" go run ./internal/tools/budgets

printf '%s\n' "${times[@]}"
printf '%5ds  in all\n' $SECONDS
[ $failed -eq 0 ] || printf 'failed: %s\n' "${broken[*]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ $failed -eq 0 ]
