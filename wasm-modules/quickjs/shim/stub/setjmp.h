/* QuickJS includes this header and uses nothing of it; wasi-libc refuses to have it. */
