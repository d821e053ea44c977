#!/bin/sh
# Builds words.wasm with clang 19 and lld 19. words.wasm is committed.
set -e
cd "$(dirname "$0")"
clang-19 --target=wasm32 -O2 -nostdlib -fno-builtin -Wall -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=4096 -o words.wasm words.c
