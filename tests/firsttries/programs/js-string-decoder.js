// Task: decode UTF-8 that arrives in two chunks
// Want: "é"
const { StringDecoder } = require("string_decoder");
const d = new StringDecoder("utf8");
return d.write(Buffer.from([0xc3])) + d.write(Buffer.from([0xa9])) + d.end();
