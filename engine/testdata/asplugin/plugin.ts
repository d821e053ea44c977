// A foreign plugin in AssemblyScript, on Extism's own protocol, with the
// language's own memory management and its maps and strings.

@external("extism:host/env", "input_length")
declare function input_length(): u64;
@external("extism:host/env", "input_load_u8")
declare function input_load_u8(at: u64): u32;
@external("extism:host/env", "alloc")
declare function alloc(n: u64): u64;
@external("extism:host/env", "store_u8")
declare function store_u8(at: u64, byte: u32): void;
@external("extism:host/env", "output_set")
declare function output_set(at: u64, n: u64): void;
@external("extism:host/env", "error_set")
declare function error_set(at: u64): void;

// What the language calls where a check of its own fails.
export function fallen(message: string | null, file: string | null, line: u32, column: u32): void {
  unreachable();
}

// Made by the start function, as every variable is that is not a number.
const ends = new Set<string>();
ends.add(" ");
ends.add("\n");
ends.add("\t");

function input(): string {
  const bytes = new Uint8Array(<i32>input_length());
  for (let i = 0; i < bytes.length; i++) bytes[i] = <u8>input_load_u8(i);
  return String.UTF8.decode(bytes.buffer);
}

function give(text: string): u64 {
  const bytes = Uint8Array.wrap(String.UTF8.encode(text));
  const at = alloc(bytes.length);
  for (let i = 0; i < bytes.length; i++) store_u8(at + i, bytes[i]);
  return at;
}

// tally gives how often each word occurs.
export function tally(): i32 {
  const text = input();
  const seen = new Map<string, i32>();
  let word = "";
  for (let i = 0; i <= text.length; i++) {
    const c = i < text.length ? text.charAt(i) : " ";
    if (!ends.has(c)) {
      word += c;
    } else if (word.length > 0) {
      seen.set(word, seen.has(word) ? seen.get(word) + 1 : 1);
      word = "";
    }
  }
  const words = seen.keys().sort();
  let out = "";
  for (let i = 0; i < words.length; i++) {
    out += (i == 0 ? "" : ",") + '"' + words[i] + '":' + seen.get(words[i]).toString();
  }
  out = "{" + out + "}";
  output_set(give(out), String.UTF8.byteLength(out));
  return 0;
}

export function fail(): i32 {
  error_set(give("the plugin says no"));
  return 1;
}

let spun: i32 = 0;

export function spin(): i32 {
  while (true) spun++;
}

export function hoard(): i32 {
  const all: Uint8Array[] = [];
  while (true) all.push(new Uint8Array(1 << 20));
}

export function trap(): i32 {
  const none: i32[] = [];
  return none[spun]; // out of its bounds
}
