#!/bin/sh
# Builds guest.wasm, the guest of package tinyguest, with clang 19.
set -e
cd "$(dirname "$0")"
clang-19 --target=wasm32 -O2 -nostdlib -fno-builtin -mbulk-memory -Wall \
	-Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 -o guest.wasm guest.c
