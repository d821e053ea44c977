// A foreign plugin in plain C that makes HTTP requests on Extism's own protocol.
// Built by build.sh.
typedef unsigned long long u64;
typedef unsigned u32;
typedef unsigned char u8;
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
IMPORT("input_length") u64 input_length(void);
IMPORT("input_load_u8") u32 input_load_u8(u64);
IMPORT("alloc") u64 alloc(u64);
IMPORT("length") u64 length(u64);
IMPORT("store_u8") void store_u8(u64, u32);
IMPORT("output_set") void output_set(u64, u64);
IMPORT("http_request") u64 http_request(u64, u64);
IMPORT("http_status_code") u32 http_status_code(void);
IMPORT("http_headers") u64 http_headers(void);

static u64 request(u64 body) {
  u64 n = input_length(), block = alloc(n);
  for (u64 i = 0; i < n; i++) store_u8(block + i, input_load_u8(i));
  return http_request(block, body);
}

static int give(u64 block) {
  if (block) output_set(block, length(block));
  return 0;
}

// get makes the request that its input describes, and returns the body.
EXPORT("get") int get(void) { return give(request(0)); }

// post is get with a body.
EXPORT("post") int post(void) {
  u64 body = alloc(4);
  for (u32 i = 0; i < 4; i++) store_u8(body + i, "ping"[i]);
  return give(request(body));
}

// headers returns those of the response.
EXPORT("headers") int headers(void) { return request(0), give(http_headers()); }

// status fails with the status of the response.
EXPORT("status") int status(void) { return request(0), http_status_code(); }

// before returns what is known of a response before any request.
EXPORT("before") int before(void) { return http_headers() || http_status_code(); }

// twice makes two requests, and returns the headers of the second response.
EXPORT("twice") int twice(void) { return request(0), headers(); }

// large makes a request of a megabyte, larger one with a body of 40.
EXPORT("large") int large(void) { return give(http_request(alloc(1 << 20), 0)); }
EXPORT("larger") int larger(void) { return give(request(alloc(40 << 20))); }
