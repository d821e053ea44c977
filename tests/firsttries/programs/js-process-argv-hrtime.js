// Task: measure how long sorting 1000 numbers takes
// Prints: sorted 1000
const start = process.hrtime.bigint();
const xs = Array.from({ length: 1000 }, (_, i) => (i * 7919) % 1000).sort((a, b) => a - b);
const ms = Number(process.hrtime.bigint() - start) / 1e6;
console.log(`sorted ${xs.length} in ${ms.toFixed(2)} ms with ${process.argv.length} arguments`);
