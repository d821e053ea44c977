// Runs one program in Node, Deno or Bun: node child.mjs FILE. A host call is a line
// "name TAB json", answered by a line. The last line is "= TAB milliseconds TAB
// result". The process exits when its standard input ends.
import fs from 'node:fs';

const chunk = new Uint8Array(1 << 20), text = new TextDecoder();
function line() {
  const parts = [];
  for (;;) {
    const n = fs.readSync(0, chunk, 0, chunk.length, null);
    if (n <= 0) throw new Error('the end of the input');
    const last = chunk[n - 1] === 10;
    parts.push(text.decode(chunk.subarray(0, last ? n - 1 : n), { stream: !last }));
    if (last) return parts.join('');
  }
}
globalThis.hostCall = (name, json) => { fs.writeSync(1, `${name}\t${json}\n`); return line(); };
const program = fs.readFileSync(process.argv[2], 'utf8');
const begun = performance.now();
const out = (0, eval)(program);
fs.writeSync(1, `=\t${performance.now() - begun}\t${out}\n`);
try { line(); } catch { }
