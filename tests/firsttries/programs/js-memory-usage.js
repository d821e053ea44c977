// Task: report memory use after building a list of 10000 strings
// Prints: heap used
const list = Array.from({ length: 10000 }, (_, i) => `item ${i}`);
const { heapUsed } = process.memoryUsage();
console.log("heap used:", Math.round(heapUsed / 1024), "KB for", list.length);
