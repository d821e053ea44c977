// Task: compress the README with a stream and check that it comes back
// Want: true
const { createGzip, gunzipSync } = require("zlib");
const { pipeline } = require("stream/promises");
const fs = require("fs");
const text = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "README.md" });
fs.writeFileSync("/tmp/README.md", text);
await pipeline(fs.createReadStream("/tmp/README.md"), createGzip(), fs.createWriteStream("/tmp/README.md.gz"));
return gunzipSync(fs.readFileSync("/tmp/README.md.gz")).toString() === text;
