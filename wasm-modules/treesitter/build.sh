#!/bin/sh
# Builds the parser guest from Tree-sitter's packages: build.sh
#
# Needs a Debian machine with npm, root for installing the compiler, and the machine's
# own mirrors. Works in $WORK/treesitter (default: work/ at the root of the
# repository) and leaves treesitter.wasm there: the raw module, which the baker
# meters, initialises and splits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export LC_ALL=C TZ=UTC
guest=treesitter
. "$here/../debian.sh"

tools clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32
mkdir -p "$work/download"
if ! complete; then
  for package in $(show settings.npm); do
    (cd "$work/download" && npm pack --silent "$package" >/dev/null)
  done
fi
fetch
rm -rf "$work/source" "$work/sysroot" "$work/objects"
for package in $(show settings.npm); do
  name=${package%@*}
  mkdir -p "$work/source/$name"
  tar -xzf "$work/download/$name-${package##*@}.tgz" -C "$work/source/$name" --strip-components=1
done
package_of wasi-libc "$work/sysroot"

# Each file has its own include path: every grammar brings its own parser.h. Paths
# are mapped away, so that two builds in two places are equal. The flags are lists of
# words.
mkdir -p "$work/objects"
library=$work/source/tree-sitter/vendor/tree-sitter/lib
features=$(show flags.features)
compile=$(show flags.compile)
# object NAME FOLDER FILE
object() {
  # shellcheck disable=SC2086
  clang-19 --target=wasm32-wasi --sysroot="$work/sysroot/usr" $features $compile "-DTREE_SITTER_VERSION=\"$(show version)\"" \
    -ffile-prefix-map="$work/source"=source -ffile-prefix-map="$here"=wexec \
    -I"$library/include" -I"$2" -c "$3" -o "$work/objects/$1.o"
}
object library "$library/src" "$library/src/lib.c"
for grammar in tree-sitter-javascript tree-sitter-python tree-sitter-typescript/typescript; do
  folder=$work/source/$grammar/src
  object "$(basename "$grammar")-parser" "$folder" "$folder/parser.c"
  object "$(basename "$grammar")-scanner" "$folder" "$folder/scanner.c"
done
object guest "$here/shim" "$here/shim/guest.c"
# shellcheck disable=SC2046
clang-19 --target=wasm32-wasi --sysroot="$work/sysroot/usr" "$work"/objects/*.o \
  $(show flags.link) -o "$work/treesitter.wasm.new"
mv "$work/treesitter.wasm.new" "$work/treesitter.wasm"
sha256sum "$work/treesitter.wasm"
