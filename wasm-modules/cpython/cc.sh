#!/bin/sh
# The compiler of the wasm build. Every cold command pays for the size of
# native code, so only files that affect the speed of programs keep -O3;
# the rest is built for size. The last -O on a command line wins.
set -eu
size=
for arg in "$@"; do
    case $arg in
    */Parser/* | Parser/* | */Programs/* | Programs/* | \
        *Python/pylifecycle.c | *Python/initconfig.c | *Python/preconfig.c | *Python/pathconfig.c | \
        *Python/Python-ast.c | *Python/Python-tokenize.c | *Python/ast*.c | *Python/compile.c | *Python/flowgraph.c | \
        *Python/assemble.c | *Python/symtable.c | *Python/future.c | *Python/codecs.c | *Python/errors.c | \
        *Python/fileutils.c | *Python/import*.c | *Python/frozen*.c | *Python/getopt.c | *Python/hamt.c | \
        *Python/interpconfig.c | *Python/instrumentation.c | *Python/legacy_tracing.c | *Python/marshal.c | \
        *Python/pystrcmp.c | *Python/pythonrun.c | *Python/sysmodule.c | *Python/traceback.c | *Python/tracemalloc.c | \
        *Python/thread.c | *Python/crossinterp*.c | *Python/optimizer*.c | *Python/perf_*.c | *Python/specialize.c | *Python/lock.c | \
        *Python/parking_lot.c | *Python/bltinmodule.c | *Python/formatter_unicode.c | *Python/uniqueid.c | \
        *Objects/unionobject.c | *Objects/weakrefobject.c | *Objects/genericaliasobject.c | *Objects/memoryobject.c | \
        *Objects/namespaceobject.c | *Objects/odictobject.c | *Objects/picklebufobject.c | *Objects/structseq.c | \
        *Objects/typevarobject.c | *Objects/exceptions.c | *Objects/fileobject.c | *Objects/codeobject.c | \
        *Objects/complexobject.c | *Objects/interpreteridobject.c | *Objects/funcobject.c | *Objects/moduleobject.c)
        size=-Os ;;
    *Modules/_sre/* | *Modules/_json.c | *Modules/_decimal/* | *Modules/itertoolsmodule.c | \
        *Modules/_collectionsmodule.c | *Modules/_heapqmodule.c | *Modules/_bisectmodule.c | *Modules/_functoolsmodule.c | \
        *Modules/_struct.c | *Modules/_csv.c | *Modules/_io/* | *Modules/_operator.c | *Modules/mathmodule.c | \
        *Modules/_randommodule.c | *Modules/gcmodule.c | *Modules/_datetimemodule.c | *Modules/zlibmodule.c | \
        *Modules/binascii.c | *Modules/arraymodule.c | *Modules/_asynciomodule.c | *Modules/_statisticsmodule.c | \
        *Modules/sha*.c | *Modules/md5module.c | *Modules/_hacl/*) ;;
    */Modules/* | Modules/*) size=-Os ;;
    esac
done
exec clang-19 --target=wasm32-wasi --sysroot="$WASI_SYSROOT" -I"${0%/*}/include" "$@" $size
