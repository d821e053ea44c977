#!/bin/sh
# Fetches the web-platform-tests into work/web/wpt: web.sh
#
# They come with Debian's source package of Node. Needs a Debian machine.
set -eu
version=20.19.2+dfsg
sha256=5e5559381ad031d245a8efa403458abbb73755f74c3e6380f185a4dd342b7949
cd "$(dirname "$0")/.."
work=work/web

mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
if [ -z "$mirror" ]; then
  echo "no Debian mirror in the apt configuration: run apt-get update" >&2
  exit 1
fi
rm -rf "$work"
mkdir -p "$work/new"
/usr/lib/apt/apt-helper -qq download-file "${mirror%/}/pool/main/n/nodejs/nodejs_$version.orig.tar.xz" "$work/node.tar.xz" "SHA256:$sha256" >&2
tar -xf "$work/node.tar.xz" -C "$work/new" --strip-components=4 --wildcards '*/test/fixtures/wpt/*'
rm "$work/node.tar.xz"
mv "$work/new" "$work/wpt"
