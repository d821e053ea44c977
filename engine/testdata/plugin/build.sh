#!/bin/sh
# Builds the foreign plugins of the engine's own tests, with clang 19.
set -e
cd "$(dirname "$0")"
for name in plugin greedy web; do
	flag= source=plugin
	[ $name = greedy ] && flag=-DGREEDY
	[ $name = web ] && source=web
	clang-19 --target=wasm32 -O2 -nostdlib -fno-builtin -Wall $flag \
		-Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o $name.wasm $source.c
done
