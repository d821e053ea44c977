#!/usr/bin/env bash
# Does what the README tells a newcomer, in a fresh clone: its first block of
# commands (the tests for one package, since all of them are a part of their
# own) and the programs that it says to try. Only what Go has downloaded and
# built already is shared with the clone.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git clone --quiet --no-local . "$dir/wexec"
GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE) GOENV=$(go env GOENV)
export GOCACHE GOMODCACHE GOENV
mkdir "$dir/home"
export HOME=$dir/home
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_STATE_HOME WEXEC_CACHE
cd "$dir/wexec"

# The commands of the README's n-th block marked sh, without their remarks.
block() { awk -v want="$1" '/^```sh$/ { n++; on = n == want; next } /^```/ { on = 0 } on { sub(/ +# .*/, ""); print }' README.md; }

ran=0
while read -r command; do
  case $command in
    "make test") command="make test PACKAGES=./fault" ;;
  esac
  printf '   $ %s\n' "$command"
  sh -c "$command" >"$dir/log" 2>&1 </dev/null || { cat "$dir/log"; echo "the README's \"$command\" fails"; exit 1; }
  ran=$((ran + 1))
done < <(block 1; block 2 | grep '^bin/wexec run ')
[ $ran -ge 4 ] || { echo "the README shows only $ran commands"; exit 1; }
[ -z "$(git status --porcelain)" ] || { git status --short; echo "the README's commands leave files behind"; exit 1; }
