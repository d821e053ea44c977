// Task: measure how long sorting 1000 numbers takes
// Prints: took
const { performance } = require("perf_hooks");
const t0 = performance.now();
Array.from({ length: 1000 }, () => Math.random()).sort();
console.log(`took ${(performance.now() - t0).toFixed(1)} ms`);
