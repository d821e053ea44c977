// A guest without an interpreter: the program is a list of commands, one a
// line, each a letter and its operand. It drives every import of the ABI, so
// that the engine can be tested without a language. Built by build.sh.
//
//   v TEXT    the outcome is the value TEXT (JSON)
//   e TEXT    the outcome is the error TEXT (JSON)
//   n         the outcome has no value
//   o TEXT    writes TEXT and a line's end to stdout; O without one; w to stderr
//   b N       writes N bytes to stdout
//   l N       loops N times; 0 is for ever
//   m N       grows the memory by N pages; a refusal is the value "refused"
//   s N       sleeps N milliseconds
//   c NAME ARGS  calls a tool, waits, and makes its answer the value
//   p N NAME ARGS  starts N calls, then waits for all; the value is their number
//   r         makes 8 random bytes the value, in hex
//   t         makes the clock the value, in nanoseconds
//   i         copies standard input to stdout
//   x         executes unreachable
//   R         recurses for ever
//   q N       exits with status N
//   a N       adds N to a counter that outlives the run, and makes it the value
typedef unsigned char u8;
typedef int i32;
typedef unsigned u32;
typedef long long i64;

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
IMPORT("wexec", "input_size") i32 input_size(void);
IMPORT("wexec", "input_read") i32 input_read(void *, i32);
IMPORT("wexec", "call_start") i64 call_start(const void *, i32, const void *, i32);
IMPORT("wexec", "call_wait") i64 call_wait(i64, i64);
IMPORT("wexec", "answer_size") i64 answer_size(i64);
IMPORT("wexec", "answer_read") i32 answer_read(i64, void *, i32);
IMPORT("wexec", "finish") void finish(i32, const void *, i32);
IMPORT("wasi_snapshot_preview1", "fd_write") i32 fd_write(i32, const void *, i32, u32 *);
IMPORT("wasi_snapshot_preview1", "fd_read") i32 fd_read(i32, const void *, i32, u32 *);
IMPORT("wasi_snapshot_preview1", "random_get") i32 random_get(void *, i32);
IMPORT("wasi_snapshot_preview1", "clock_time_get") i32 clock_time_get(i32, i64, i64 *);
IMPORT("wasi_snapshot_preview1", "poll_oneoff") i32 poll_oneoff(const void *, void *, i32, u32 *);
IMPORT("wasi_snapshot_preview1", "proc_exit") void proc_exit(i32);

static u8 doc[1 << 20], out[1 << 20], code[1 << 16];
static i64 counter;
static volatile i64 sink;

static int length(const u8 *s) {
  int n = 0;
  while (s[n]) n++;
  return n;
}

static void write_to(i32 fd, const u8 *p, i32 n) {
  u32 iov[2] = {(u32)(unsigned long)p, (u32)n}, done;
  fd_write(fd, iov, 1, &done);
}

static i64 number(const u8 **s) {
  i64 n = 0;
  while (**s == ' ') (*s)++;
  for (; **s >= '0' && **s <= '9'; (*s)++) n = n * 10 + **s - '0';
  return n;
}

static i32 print(u8 *to, i64 v) {
  u8 digits[20];
  i32 n = 0, at = 0;
  do digits[n++] = '0' + v % 10;
  while (v /= 10);
  while (n) to[at++] = digits[--n];
  return at;
}

// program finds the code in the input document and undoes its escapes.
static int program(void) {
  i32 n = input_size();
  if (n > (i32)sizeof doc) return -1;
  input_read(doc, n);
  static const u8 mark[] = "\"code\":\"";
  int at = 0, to = 0;
  for (; at + 8 < n; at++) {
    int k = 0;
    while (k < 8 && doc[at + k] == mark[k]) k++;
    if (k == 8) break;
  }
  for (at += 8; at < n && doc[at] != '"' && to < (int)sizeof code - 1; at++) {
    if (doc[at] == '\\') {
      at++;
      code[to++] = doc[at] == 'n' ? '\n' : doc[at];
    } else {
      code[to++] = doc[at];
    }
  }
  code[to] = 0;
  return to;
}

__attribute__((noinline)) static i64 deeper(i64 n) {
  sink = n;
  i64 more = deeper(n + 1);
  sink = more;
  return more + n;
}

static i64 begin(const u8 *s) {
  while (*s == ' ') s++;
  int n = 0;
  while (s[n] && s[n] != ' ') n++;
  const u8 *args = s[n] ? s + n + 1 : (const u8 *)"{}";
  return call_start(s, n, args, length(args));
}

static void call(const u8 *s) {
  i64 id = begin(s);
  if (call_wait(id, -1) != id) return;
  i64 size = answer_size(id);
  i32 n = (i32)size;
  if (n > (i32)sizeof out) n = sizeof out;
  answer_read(id, out, n);
  finish(size >> 32 == 1 ? 1 : 0, out, n);
}

static void many(const u8 *s) {
  i64 n = number(&s), got = 0;
  for (i64 k = 0; k < n; k++) begin(s);
  for (i64 id; (id = call_wait(0, -1)) > 0; got++) answer_read(id, out, sizeof out);
  finish(0, out, print(out, got));
}

static void sleep_ms(i64 ms) {
  u8 sub[48] = {0}, event[32];
  *(i64 *)(sub + 24) = ms * 1000000;
  *(i32 *)(sub + 16) = 1;
  u32 n;
  poll_oneoff(sub, event, 1, &n);
}

static void command(u8 *s) {
  const u8 *rest = s[1] == ' ' ? s + 2 : s + 1;
  i64 n;
  u32 got;
  switch (s[0]) {
  case 'v': finish(0, rest, length(rest)); break;
  case 'e': finish(1, rest, length(rest)); break;
  case 'n': finish(2, 0, 0); break;
  case 'o': case 'w':
    write_to(s[0] == 'o' ? 1 : 2, rest, length(rest));
    write_to(s[0] == 'o' ? 1 : 2, (const u8 *)"\n", 1);
    break;
  case 'O': write_to(1, rest, length(rest)); break;
  case 'b':
    n = number(&rest);
    for (i32 k = 0; k < (i32)sizeof out; k++) out[k] = 'x';
    for (; n > 0; n -= sizeof out) write_to(1, out, n < (i64)sizeof out ? n : (i64)sizeof out);
    break;
  case 'l':
    n = number(&rest);
    for (i64 k = 0; n == 0 || k < n; k++) sink += k;
    break;
  case 'm':
    if ((i32)__builtin_wasm_memory_grow(0, number(&rest)) < 0) finish(0, "\"refused\"", 9);
    break;
  case 's': sleep_ms(number(&rest)); break;
  case 'c': call(rest); break;
  case 'p': many(rest); break;
  case 'r':
    random_get(out, 8);
    for (int k = 7; k >= 0; k--) {
      u8 c = out[k];
      out[1 + 2 * k] = "0123456789abcdef"[c >> 4];
      out[2 + 2 * k] = "0123456789abcdef"[c & 15];
    }
    out[0] = out[17] = '"';
    finish(0, out, 18);
    break;
  case 't':
    clock_time_get(0, 1, &n);
    finish(0, out, print(out, n));
    break;
  case 'i':
    do {
      u32 iov[2] = {(u32)(unsigned long)out, sizeof out};
      got = 0;
      fd_read(0, iov, 1, &got);
      write_to(1, out, got);
    } while (got);
    break;
  case 'x': __builtin_trap();
  case 'R': sink = deeper(0); break;
  case 'q': proc_exit(number(&rest)); break;
  case 'a':
    counter += number(&rest);
    finish(0, out, print(out, counter));
    break;
  }
}

__attribute__((export_name("guest_run"))) i32 guest_run(void) {
  int n = program();
  if (n < 0) return 1;
  finish(2, 0, 0);
  for (int at = 0; at < n;) {
    int end = at;
    while (end < n && code[end] != '\n') end++;
    code[end] = 0;
    command(code + at);
    at = end + 1;
  }
  return 0;
}
