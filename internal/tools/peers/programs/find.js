return globalThis.left ?? [].left ?? "no"
