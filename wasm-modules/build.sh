#!/bin/sh
# Builds every guest from source, bakes it, and compares it with the committed files:
# build.sh [--write]
#
# Needs a Debian machine, and root or sudo if compilers or Go are missing there. The
# recipes work in $WORK (default: work/ at the root of the repository). With
# --write it replaces the committed files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
export WORK="${WORK:-$root/work}"
compare=-compare
case ${1-} in
"") ;;
--write) compare= ;;
*) echo "usage: build.sh [--write]" >&2; exit 2 ;;
esac
cd "$root"
. ./.ci/go
mkdir -p "$WORK"
go build -o "$WORK/bake" ./wasm-modules/bake

status=0
# bake NAME [ARGUMENTS]: bakes the raw module that the guest's recipe built.
bake() {
  name=$1; shift
  "$WORK/bake" -guest "$name" -raw "$WORK/$name/$name.wasm" "$@" $compare || { status=1; echo "$name differs" >&2; }
}

"$here/cpython/build.sh" tools # all that any of them needs, at once
"$here/quickjs/build.sh"
bake quickjs
"$here/cpython/build.sh"
bake cpython -library "$WORK/cpython/python313.zip"
"$here/esbuild/build.sh"
bake esbuild
"$here/treesitter/build.sh"
bake treesitter
if [ -z "$compare" ]; then
  echo "all guests were built and written: commit wasm-modules/artefacts, manifest.json and contents.txt together"
elif [ $status -eq 0 ]; then
  echo "all guests were built, and are what is committed, bit for bit"
else
  echo "NOT what is committed: the guests named above differ" >&2
fi
exit $status
