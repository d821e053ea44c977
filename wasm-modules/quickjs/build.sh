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
work=${WORK:-$root/work}/quickjs
export LC_ALL=C TZ=UTC

# what is built, from what and with which flags stands in manifest.json
show() { (cd "$root" && CGO_ENABLED=0 go run ./wasm-modules/bake -guest quickjs -show "$1"); }
suite=$(show settings.suite)
quickjs=$(show settings.quickjs)
wasi_libc=$(show settings.wasi-libc)
compiler=$(show settings.compiler)
digests=$(show sources)

# gone WHAT NAME=VERSION
gone() {
  has=$( (apt-cache showsrc "${2%%=*}"; apt-cache show "${2%%=*}") 2>/dev/null | awk '/^Version:/ { print $2 }' | sort -uV | xargs)
  echo "quickjs: $1 $2 is not in the archive any more; $suite has ${has:-none of that name}." >&2
  echo "quickjs: change the sources with their digests and the settings of quickjs in wasm-modules/manifest.json." >&2
  echo "quickjs: the committed artefacts do not need it." >&2
  exit 1
}

# ---- the compiler ----
missing=
for package in clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 dpkg-dev patch xz-utils; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -n "$missing" ]; then
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

# ---- a private apt that knows the suite's sources; the system's stays as it is ----
mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial" "$work/download"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
if [ -z "$mirror" ]; then
  echo "quickjs: no Debian mirror in the machine's apt configuration: run apt-get update" >&2
  exit 1
fi
key=/usr/share/keyrings/debian-archive-keyring.gpg
printf 'deb-src [signed-by=%s] %s %s main\ndeb [signed-by=%s] %s %s main\n' \
  "$key" "$mirror" "$suite" "$key" "$mirror" "$suite" >"$work/apt/sources.list"
cat >"$work/apt/apt.conf" <<EOF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$work/apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$work/apt/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
EOF

fetched() {
  echo "$digests" | (cd "$work/download" && sha256sum --check --status - 2>/dev/null)
}
if ! fetched; then
  (
    export APT_CONFIG="$work/apt/apt.conf"
    cd "$work/download"
    apt-get update -qq
    apt-get source -qq --download-only "$quickjs" || gone "the source package" "$quickjs"
    apt-get download -qq "$wasi_libc" || gone "the package" "$wasi_libc"
  )
  if ! fetched; then
    echo "quickjs: what the archive gave has not the digests this recipe was written for:" >&2
    (cd "$work/download" && sha256sum ./*.orig.tar.xz ./*.deb) >&2
    exit 1
  fi
fi

# ---- sources and system root ----
rm -rf "$work/source" "$work/sysroot"
mkdir -p "$work/source" "$work/sysroot"
tar -xf "$work/download"/quickjs_*.orig.tar.xz -C "$work/source" --strip-components=1
dpkg -x "$work/download"/wasi-libc_*.deb "$work/sysroot"
for p in "$here"/patches/*.patch; do
  patch -s -p1 -d "$work/source" <"$p"
done

# ---- the module ----
have=$(dpkg-query -W -f '${Version}' clang-19)
case $have in
"$compiler"*) ;;
*) echo "quickjs: built with clang-19 $have, the committed module with $compiler: the bytes will differ" >&2 ;;
esac

# Paths are mapped away, so that two builds in two places are equal. The flags
# are lists of words.
# shellcheck disable=SC2046
clang-19 --target=wasm32-wasi --sysroot="$work/sysroot/usr" \
  $(show flags.features) $(show flags.compile) "-DQUICKJS_VERSION=\"$(cat "$work/source/VERSION")\"" \
  -ffile-prefix-map="$work/source"=quickjs -ffile-prefix-map="$here"=wexec \
  -I"$here/shim/stub" -I"$work/source" -I"$here/shim" -I"$here/../shim" \
  "$here/shim/guest.c" "$work/source/dtoa.c" "$work/source/libregexp.c" \
  "$work/source/libunicode.c" "$work/source/cutils.c" \
  $(show flags.link) -o "$work/quickjs.wasm.new"
mv "$work/quickjs.wasm.new" "$work/quickjs.wasm"
sha256sum "$work/quickjs.wasm"
