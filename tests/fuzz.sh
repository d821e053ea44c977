#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while each: fuzz.sh 10s
set -euo pipefail
cd "$(dirname "$0")/.."
for_each=${1:-10s}
git grep -hoE --full-name '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null || exit 0
git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file target; do
  name=${target#func }
  printf '   %s %s\n' "$(dirname "$file")" "$name"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$for_each" "./$(dirname "$file")"
done
