#!/usr/bin/env bash
# Builds the S3 server for tests into work/bin. The first build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.8.0
[ -x work/bin/versitygw ] && [ "$(cat work/bin/versitygw.version 2>/dev/null)" = $version ] && exit
mkdir -p work/bin
bin=$(cd work/bin && pwd)
GOBIN=$bin CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@$version
echo $version >work/bin/versitygw.version
