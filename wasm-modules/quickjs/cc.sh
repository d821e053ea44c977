#!/bin/sh
# Compiles the module: cc.sh SOURCES SYSROOT OUT, where SOURCES is the patched
# QuickJS tree. Every flag that shapes the module is here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
src=$1 sysroot=$2 out=$3

exec clang-19 --target=wasm32-wasi --sysroot="$sysroot" \
  -mexec-model=reactor -mbulk-memory -mnontrapping-fptoint -msign-ext -mmutable-globals -mmultivalue \
  -O2 -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL "-DQUICKJS_VERSION=\"$(cat "$src/VERSION")\"" \
  -funsigned-char -fno-strict-aliasing -fvisibility=hidden -ffile-prefix-map="$src"=quickjs -ffile-prefix-map="$here"=wexec \
  -I"$here/shim/stub" -I"$src" -I"$here/shim" -w \
  "$here/shim/guest.c" "$src/dtoa.c" "$src/libregexp.c" "$src/libunicode.c" "$src/cutils.c" \
  -Wl,-z,stack-size=2097152 -Wl,--stack-first -Wl,--strip-all -lm -o "$out"
