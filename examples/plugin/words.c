// A plugin as any language with an Extism PDK makes them, here in plain C on
// Extism's own protocol: it counts the words of its input.
typedef unsigned long long u64;
typedef unsigned u32;
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))
IMPORT("input_length") u64 input_length(void);
IMPORT("input_load_u8") u32 input_load_u8(u64 at);
IMPORT("alloc") u64 alloc(u64 size);
IMPORT("store_u8") void store_u8(u64 at, u32 byte);
IMPORT("output_set") void output_set(u64 at, u64 size);

__attribute__((export_name("count"))) int count(void) {
  u32 words = 0, inside = 0;
  for (u64 i = 0, n = input_length(); i < n; i++) {
    u32 blank = input_load_u8(i) <= ' ';
    words += !blank && !inside;
    inside = !blank;
  }
  char digits[10];
  int n = 0;
  do digits[n++] = '0' + words % 10; while (words /= 10);
  u64 out = alloc(n);
  for (int i = 0; i < n; i++) store_u8(out + i, digits[n - 1 - i]);
  output_set(out, n);
  return 0;
}

__attribute__((export_name("forever"))) int forever(void) {
  for (volatile u64 n = 0;; n++);
}
