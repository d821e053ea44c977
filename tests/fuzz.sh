#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while each: fuzz.sh 10s [PATTERN]
# A finding is written below testdata/fuzz and fails the run.
set -uo pipefail
cd "$(dirname "$0")/.."
for_each=${1:-10s} only=${2:-.}
log=$(mktemp) failed=0
trap 'rm -f "$log"' EXIT

try() { go test -run '^$' -fuzz "^$2\$" -fuzztime "$for_each" -fuzzminimizetime 10x "./$1" >"$log" 2>&1; }

while IFS=: read -r file target; do
  folder=$(dirname "$file") name=${target#func }
  [[ "$folder $name" =~ $only ]] || continue
  printf '   %s %s\n' "$folder" "$name"
  try "$folder" "$name" && continue
  # Go's fuzzer sometimes takes the end of its own time for a failure. Then
  # there is no finding, and a second try settles it.
  if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
    try "$folder" "$name" && continue
  fi
  tail -n 30 "$log"
  failed=1
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go')
exit $failed
