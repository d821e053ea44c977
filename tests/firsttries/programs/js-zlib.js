// Task: how small does the README get with gzip? round trip it
// Want: true
const zlib = require("zlib");
const text = (await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "README.md" })).repeat(20);
const packed = zlib.gzipSync(Buffer.from(text));
const back = zlib.gunzipSync(packed).toString("utf8");
return packed.length < text.length && back === text;
