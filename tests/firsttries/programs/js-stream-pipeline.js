// Task: upper-case lines through a stream
// Want: "ABC"
const { Readable, Transform } = require("stream");
const { pipeline } = require("stream/promises");
let out = "";
const upper = new Transform({ transform(chunk, _enc, cb) { cb(null, chunk.toString().toUpperCase()); } });
upper.on("data", (c) => (out += c));
await pipeline(Readable.from(["a", "b", "c"]), upper);
return out;
