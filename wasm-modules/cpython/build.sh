#!/bin/sh
# Builds the CPython guest from Debian's source packages: build.sh
#
# Needs a Debian machine, root for installing tools, Go, and the machine's own
# mirrors. Works in $WORK/cpython (default: work/ at the root of the repository)
# and leaves there cpython.wasm, the raw module, and python313.zip, the standard
# library; the baker starts the module with guests/python as its prelude. What
# is built, from what and with which flags is in manifest.json.
#
# The steps: tools, fetch, unpack, host, libraries, module, stdlib, testsuite.
# Arguments select steps.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
jobs=${JOBS:-$(nproc)}
export SOURCE_DATE_EPOCH=1767225600 LC_ALL=C TZ=UTC
guest=cpython
. "$here/../debian.sh"
export WASI_SYSROOT="$work/sysroot/usr"

# ---- unpack: sources with Debian's patches, then ours ----
unpack() {
  rm -rf "$work/source" "$work/sysroot"
  for name in python3.13 sqlite3 zlib bzip2; do source_of $name 1; done
  source_of tzdata 0
  patched python3.13 "$here/patches"
  package_of wasi-libc "$work/sysroot"
}

# ---- host: the same version for this machine; it compiles the library ----
host() {
  rm -rf "$work/host" "$work/host-zlib"
  mkdir -p "$work/host"
  cp -r "$work/source/zlib" "$work/host-zlib"
  (cd "$work/host-zlib" && CFLAGS="-O2 -fPIC" ./configure --static >/dev/null && make -s libz.a)
  cd "$work/host"
  OPT="-DNDEBUG -fwrapv -O1" ZLIB_CFLAGS="-I$work/host-zlib" ZLIB_LIBS="$work/host-zlib/libz.a" \
    ../source/python3.13/configure --disable-test-modules --without-ensurepip >configure.log 2>&1
  make -j"$jobs" >make.log 2>&1 || { tail -n 20 make.log >&2; exit 1; }
}

# ---- libraries: zlib, bzip2 and SQLite for wasm ----
compile() { # object source flags…
  object=$1 source=$2
  shift 2
  # shellcheck disable=SC2046
  clang-19 --target=wasm32-wasi --sysroot="$WASI_SYSROOT" $(cat "$work/flags.features") "$@" -g0 -Wno-everything -c "$source" -o "$object"
}

libraries() {
  rm -rf "$work/libraries"
  mkdir -p "$work/libraries/include" "$work/libraries/lib" "$work/libraries/zlib" "$work/libraries/bzip2" "$work/libraries/sqlite"
  cd "$work/libraries"
  show flags.features >"$work/flags.features"
  for f in adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil; do
    compile "zlib/$f.o" "../source/zlib/$f.c" -O2
  done
  for f in blocksort huffman crctable randtable compress decompress bzlib; do
    compile "bzip2/$f.o" "../source/bzip2/$f.c" -Os
  done
  (cd sqlite && ../../source/sqlite3/configure >configure.log 2>&1 && make sqlite3.c >make.log 2>&1)
  # shellcheck disable=SC2046
  compile sqlite/sqlite3.o sqlite/sqlite3.c $(show flags.sqlite)
  llvm-ar-19 crD lib/libz.a zlib/*.o
  llvm-ar-19 crD lib/libbz2.a bzip2/*.o
  llvm-ar-19 crD lib/libsqlite3.a sqlite/sqlite3.o
  cp ../source/zlib/zlib.h ../source/zlib/zconf.h ../source/bzip2/bzlib.h sqlite/sqlite3.h include
}

# ---- module: the interpreter and the shim ----
module() {
  rm -rf "$work/wasm"
  mkdir -p "$work/wasm/shim"
  cd "$work/wasm"
  features=$(show flags.features)
  export CC="$here/cc.sh" CPP="clang-cpp-19 --target=wasm32-wasi --sysroot=$WASI_SYSROOT" CXX=false
  export AR=llvm-ar-19 RANLIB=llvm-ranlib-19 PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=/nonexistent
  export ZLIB_CFLAGS=-I../libraries/include ZLIB_LIBS="-L../libraries/lib -lz"
  export BZIP2_CFLAGS=-I../libraries/include BZIP2_LIBS="-L../libraries/lib -lbz2"
  export LIBSQLITE3_CFLAGS=-I../libraries/include LIBSQLITE3_LIBS="-L../libraries/lib -lsqlite3"
  OPT=$(show flags.python)
  export OPT CFLAGS="-g0 $features -ffile-prefix-map=$work=/build"
  # What is compiled with include/errno.h needs linux_errno.
  # shellcheck disable=SC2046,SC2086
  "$here/cc.sh" -g0 $features $(show flags.shim) -c "$here/shim/errno.c" -o shim/errno.o
  export LIBS="$PWD/shim/errno.o"
  # shellcheck disable=SC2046
  CONFIG_SITE="$work/source/python3.13/Tools/wasm/config.site-wasm32-wasi" \
    ../source/python3.13/configure --host=wasm32-unknown-wasi --build="$(../source/python3.13/config.guess)" \
    --with-build-python="$work/host/python" $(show flags.configure) >configure.log 2>&1
  # The host's clock does not support absolute timeouts.
  sed -i 's@^#define HAVE_CLOCK_NANOSLEEP 1@/* #undef HAVE_CLOCK_NANOSLEEP */@' pyconfig.h
  make -j"$jobs" >make.log 2>&1 || { tail -n 20 make.log >&2; exit 1; }
  make libpython3.13.a >>make.log 2>&1
  shim
}

shim() {
  cd "$work/wasm"
  features=$(show flags.features)
  for f in "$here"/shim/*.c; do
    # shellcheck disable=SC2046,SC2086
    "$here/cc.sh" -g0 $features $(show flags.shim) -ffile-prefix-map="$here"=/shim -I"$here/../shim" -D_WASI_EMULATED_SIGNAL \
      -I../source/python3.13/Include -I../source/python3.13/Include/internal -I. -c "$f" -o "shim/$(basename "$f" .c).o"
  done
  # shellcheck disable=SC2046
  "$here/cc.sh" $(show flags.link) -o "$work/cpython.wasm.new" shim/*.o libpython3.13.a \
    Modules/_decimal/libmpdec/libmpdec.a Modules/_hacl/libHacl_Hash_SHA2.a Modules/expat/libexpat.a \
    -L../libraries/lib -lz -lbz2 -lsqlite3 -ldl -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lm
  mv "$work/cpython.wasm.new" "$work/cpython.wasm"
}

# ---- stdlib: compiled modules and time zones in one archive ----
stdlib() {
  cd "$work"
  rm -rf zoneinfo
  (cd source/tzdata && zic -b slim -d "$work/zoneinfo" africa antarctica asia australasia europe northamerica southamerica etcetera backward factory)
  PYTHONHASHSEED=0 host/python "$here/stdlib.py" source/python3.13/Lib zoneinfo "wasm/$(cat wasm/pybuilddir.txt)" python313.zip.new
  mv python313.zip.new python313.zip
}

# ---- testsuite: Python's own tests, for make conformance ----
testsuite() {
  rm -rf "$work/testsuite" "$work/testsuite.new"
  package_of libpython3.13-testsuite "$work/testsuite.new/deb"
  mv "$work/testsuite.new/deb/usr/lib/python3.13/test" "$work/testsuite.new/test"
  rm -rf "$work/testsuite.new/deb"
  # files that Debian has in another package
  for name in support typinganndata __init__.py; do
    cp -r "$work/source/python3.13/Lib/test/$name" "$work/testsuite.new/test/"
  done
  mv "$work/testsuite.new" "$work/testsuite"
}

packages="clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 gcc libc6-dev libc-bin make patch pkg-config tcl xz-utils bzip2"
every() {
  # shellcheck disable=SC2086
  tools $packages
  for step in fetch unpack host libraries module stdlib testsuite; do say "$step"; ("$step"); done
  sha256sum "$work/cpython.wasm" "$work/python313.zip"
}

for step in "${@:-}"; do
  case $step in
  '') every ;;
  # shellcheck disable=SC2086
  tools) tools $packages ;;
  fetch | unpack | host | libraries | module | shim | stdlib | testsuite) say "$step"; ("$step") ;;
  *) say "no step $step"; exit 2 ;;
  esac
done
