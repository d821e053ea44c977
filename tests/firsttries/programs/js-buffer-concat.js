// Task: join three byte chunks and show them as hex
// Want: "0102ff00"
const { Buffer } = require("buffer");
const all = Buffer.concat([Buffer.from([1, 2]), Buffer.alloc(1, 0xff), Buffer.from("00", "hex")]);
return all.toString("hex");
