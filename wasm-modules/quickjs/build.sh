#!/bin/sh
# Builds the QuickJS guest from Debian's source package: build.sh
#
# Needs a Debian machine, root for installing the compiler, and the machine's
# own mirrors. Works in $WORK/quickjs (default: work/ at the root of the
# repository) and leaves quickjs.wasm there: the raw module, which the baker
# meters, initialises with guests/javascript as its prelude, and splits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export LC_ALL=C TZ=UTC
guest=quickjs
. "$here/../debian.sh"

tools clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 patch xz-utils
fetch
rm -rf "$work/source" "$work/sysroot"
source_of quickjs 1
patched quickjs "$here/patches"
package_of wasi-libc "$work/sysroot"

# Paths are mapped away, so that two builds in two places are equal. The flags
# are lists of words.
# shellcheck disable=SC2046
clang-19 --target=wasm32-wasi --sysroot="$work/sysroot/usr" \
  $(show flags.features) $(show flags.compile) "-DQUICKJS_VERSION=\"$(cat "$work/source/quickjs/VERSION")\"" \
  -ffile-prefix-map="$work/source/quickjs"=quickjs -ffile-prefix-map="$here"=wexec \
  -I"$here/shim/stub" -I"$work/source/quickjs" -I"$here/shim" -I"$here/../shim" \
  "$here/shim/guest.c" "$work/source/quickjs/dtoa.c" "$work/source/quickjs/libregexp.c" \
  "$work/source/quickjs/libunicode.c" "$work/source/quickjs/cutils.c" \
  $(show flags.link) -o "$work/quickjs.wasm.new"
mv "$work/quickjs.wasm.new" "$work/quickjs.wasm"
sha256sum "$work/quickjs.wasm"
