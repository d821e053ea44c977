// A foreign plugin in plain C, on Extism's own protocol. Built by build.sh;
// with -DGREEDY it also wants what no host of Extism has.
typedef unsigned long long u64;
typedef unsigned u32;
typedef unsigned char u8;
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
IMPORT("input_length") u64 input_length(void);
IMPORT("input_load_u8") u32 input_load_u8(u64);
IMPORT("alloc") u64 alloc(u64);
IMPORT("store_u8") void store_u8(u64, u32);
IMPORT("output_set") void output_set(u64, u64);
IMPORT("error_set") void error_set(u64);
#ifdef GREEDY
IMPORT("process_start") u64 process_start(u64);
EXPORT("start") int start(void) { return (int)process_start(0); }
#endif

static volatile u64 sink;

EXPORT("upper") int upper(void) {
  u64 n = input_length(), out = alloc(n);
  for (u64 i = 0; i < n; i++) {
    u32 c = input_load_u8(i);
    store_u8(out + i, c >= 'a' && c <= 'z' ? c - 32 : c);
  }
  output_set(out, n);
  return 0;
}

EXPORT("fail") int fail(void) {
  static const char text[] = "the plugin says no";
  u64 at = alloc(sizeof text - 1);
  for (u64 i = 0; i < sizeof text - 1; i++) store_u8(at + i, text[i]);
  error_set(at);
  return 1;
}

EXPORT("loop") int loop(void) {
  for (;;) sink++;
}

EXPORT("grow") int grow(void) {
  for (;;) if ((int)__builtin_wasm_memory_grow(0, 16) < 0) return 7;
}

EXPORT("hoard") int hoard(void) {
  for (;;) sink = alloc(1 << 20);
}

EXPORT("trap") int trap(void) { __builtin_trap(); }

EXPORT("two") int two(int a) { return a; }
