#!/bin/sh
# Builds the CPython guest from Debian's source packages: build.sh
#
# Needs a Debian machine, root for installing tools, Go, and the machine's own
# mirrors. Works in $WORK/cpython (default: work/ at the root of the repository)
# and leaves there cpython.wasm, the raw module, and python313.zip, the standard
# library; the baker starts the module with guests/python as its prelude. What
# is built, from what and with which flags stands in manifest.json.
#
# The steps: tools, fetch, unpack, host, libraries, module, stdlib, testsuite.
# With names as arguments only those are done.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${WORK:-$root/work}/cpython
jobs=${JOBS:-$(nproc)}
export SOURCE_DATE_EPOCH=1767225600 LC_ALL=C TZ=UTC
export WASI_SYSROOT="$work/sysroot/usr"

say() { echo "cpython: $*" >&2; }
show() { (cd "$root" && CGO_ENABLED=0 CC= go run ./wasm-modules/bake -guest cpython -show "$1"); }

# ---- tools: what the build itself needs ----
tools() {
  missing=
  for package in clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 gcc libc6-dev libc-bin make patch pkg-config tcl xz-utils bzip2; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
  fi
}

# ---- fetch: a private apt that knows the sources; the system's stays as it is ----
private_apt() {
  mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial" "$work/download"
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
  if [ -z "$mirror" ]; then
    say "no Debian mirror in the machine's apt configuration: run apt-get update"
    exit 1
  fi
  key=/usr/share/keyrings/debian-archive-keyring.gpg
  for line in "deb-src trixie" "deb trixie" "deb bookworm-backports"; do
    echo "${line% *} [signed-by=$key] $mirror ${line#* } main"
  done >"$work/apt/sources.list"
  cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$work/apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$work/apt/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
}

complete() { show sources | (cd "$work/download" && sha256sum --check --status - 2>/dev/null); }

# gone FILE: of a package whose name begins the file's
gone() {
  has=$( (apt-cache showsrc "${1%%_*}"; apt-cache show "${1%%_*}") 2>/dev/null | awk '/^Version:/ { print $2 }' | sort -uV | xargs)
  say "$1 is not in the archive any more; of ${1%%_*} it has ${has:-nothing}."
  say "change the package's version, file and sha256 in wasm-modules/manifest.json."
  say "the committed artefacts do not need it."
  exit 1
}

# Every file that the manifest lists, one by one: a package of which only the
# description is gone can still be had.
fetch() {
  mkdir -p "$work/download"
  complete && return
  private_apt
  export APT_CONFIG="$work/apt/apt.conf"
  apt-get update -qq
  (
    cd "$work/download"
    for package in $(show settings.packages); do
      apt-get source --download-only --print-uris -qq "$package" 2>/dev/null | tr -d "'"
    done
    for package in $(show settings.debs); do
      apt-get download --print-uris -qq "$package" 2>/dev/null | tr -d "'"
    done
  ) >"$work/download/uris"
  show sources | while read -r digest file; do
    echo "$digest  $work/download/$file" | sha256sum --check --status 2>/dev/null && continue
    uri=$(awk -v file="$file" '{ name = $2; gsub(/%3a/, ":", name); if (name == file || $1 ~ "/" file "$") { print $1; exit } }' "$work/download/uris")
    [ -n "$uri" ] || uri=$(awk '{ print $1 " " $2 }' "$work/download/uris" | grep -F -- "$file" | head -n 1 | cut -d ' ' -f 1)
    [ -n "$uri" ] || gone "$file"
    /usr/lib/apt/apt-helper download-file "$uri" "$work/download/$file" "SHA256:$digest" >&2 || gone "$file"
  done
  unset APT_CONFIG
  complete || { say "what the archive gave has not the digests in the manifest"; exit 1; }
}

# ---- unpack: sources with Debian's patches, then ours ----
source_of() { # name: an unpacked source package below $work/source
  mkdir -p "$work/source/$1"
  tar -xf "$(ls "$work/download/$1"_*.orig.tar.*)" -C "$work/source/$1" "--strip-components=$2"
  [ "$3" = patched ] || return 0
  tar -xf "$(ls "$work/download/$1"_*.debian.tar.*)" -C "$work/source/$1"
  grep -v -e '^#' -e '^ *$' "$work/source/$1/debian/patches/series" | while read -r name _; do
    patch -s -p1 -d "$work/source/$1" <"$work/source/$1/debian/patches/$name"
  done
}

unpack() {
  rm -rf "$work/source" "$work/sysroot"
  source_of python3.13 1 patched
  source_of sqlite3 1 patched
  source_of zlib 1 patched
  source_of bzip2 1 patched
  source_of tzdata 0 plain
  for p in "$here"/patches/*.patch; do
    patch -s -p1 -d "$work/source/python3.13" <"$p"
  done
  mkdir -p "$work/sysroot"
  dpkg -x "$work/download"/wasi-libc_*.deb "$work/sysroot"
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
  # shellcheck disable=SC2046
  CONFIG_SITE="$work/source/python3.13/Tools/wasm/config.site-wasm32-wasi" \
    ../source/python3.13/configure --host=wasm32-unknown-wasi --build="$(../source/python3.13/config.guess)" \
    --with-build-python="$work/host/python" $(show flags.configure) >configure.log 2>&1
  # The host's clock knows no absolute waits.
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
  mkdir -p "$work/testsuite.new/deb"
  dpkg -x "$work/download"/libpython3.13-testsuite_*.deb "$work/testsuite.new/deb"
  mv "$work/testsuite.new/deb/usr/lib/python3.13/test" "$work/testsuite.new/test"
  rm -rf "$work/testsuite.new/deb"
  # what Debian keeps in another package
  for name in support typinganndata __init__.py; do
    cp -r "$work/source/python3.13/Lib/test/$name" "$work/testsuite.new/test/"
  done
  mv "$work/testsuite.new" "$work/testsuite"
}

mkdir -p "$work"
for step in "${@:-}"; do
  case $step in
  '') for each in tools fetch unpack host libraries module stdlib testsuite; do say "$each"; ("$each"); done ;;
  tools | fetch | unpack | host | libraries | module | shim | stdlib | testsuite) say "$step"; ("$step") ;;
  *) say "no step $step"; exit 2 ;;
  esac
done
if [ $# -eq 0 ]; then sha256sum "$work/cpython.wasm" "$work/python313.zip"; fi
