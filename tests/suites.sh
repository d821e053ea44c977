#!/bin/sh
# Fetches public test suites from Debian's source packages: suites.sh test262|web
#
# test262, the tests of the JavaScript language as of April 2024, comes with
# SpiderMonkey and goes to work/test262. The web-platform-tests come with Node
# and go to work/web/wpt. Needs a Debian machine.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
test262)
  archive=mozjs128/mozjs128_128.14.0.orig.tar.xz
  sha256=41cca35149710ce45fbabc5fefcf86a01fdf833fdb783941964fca3a55fb72dd
  folder=js/src/tests/test262 depth=5 work=work/test262
  ;;
web)
  archive=nodejs/nodejs_20.19.2+dfsg.orig.tar.xz
  sha256=5e5559381ad031d245a8efa403458abbb73755f74c3e6380f185a4dd342b7949
  folder=test/fixtures/wpt depth=4 work=work/web/wpt
  ;;
*)
  echo "usage: suites.sh test262|web" >&2
  exit 2
  ;;
esac

mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
if [ -z "$mirror" ]; then
  echo "no Debian mirror in the apt configuration: run apt-get update" >&2
  exit 1
fi
rm -rf "$work" "$work.new"
mkdir -p "$work.new"
/usr/lib/apt/apt-helper -qq download-file "${mirror%/}/pool/main/$(echo "$archive" | cut -c1)/$archive" "$work.new/source.tar.xz" "SHA256:$sha256" >&2
tar -xf "$work.new/source.tar.xz" -C "$work.new" --strip-components="$depth" --wildcards "*/$folder/*"
rm "$work.new/source.tar.xz"
mv "$work.new" "$work"
