#!/bin/sh
# Fetches test262, the tests of the JavaScript language, into work/test262: test262.sh
#
# They come with Debian's source package of SpiderMonkey 128, as of April 2024.
# Needs a Debian machine.
set -eu
version=128.14.0
sha256=41cca35149710ce45fbabc5fefcf86a01fdf833fdb783941964fca3a55fb72dd
cd "$(dirname "$0")/.."
work=work/test262

mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
if [ -z "$mirror" ]; then
  echo "no Debian mirror in the apt configuration: run apt-get update" >&2
  exit 1
fi
rm -rf "$work" "$work.new"
mkdir -p "$work.new"
/usr/lib/apt/apt-helper -qq download-file "${mirror%/}/pool/main/m/mozjs128/mozjs128_$version.orig.tar.xz" "$work.new/source.tar.xz" "SHA256:$sha256" >&2
tar -xf "$work.new/source.tar.xz" -C "$work.new" --strip-components=5 --wildcards '*/js/src/tests/test262/*'
rm "$work.new/source.tar.xz"
mv "$work.new" "$work"
