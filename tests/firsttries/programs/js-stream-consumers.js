// Task: the number of lines of the log, through a read stream
// Want: 6
const fs = require("node:fs");
const { text } = require("node:stream/consumers");
await fs.promises.writeFile("/tmp/app.log", await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "logs/app.log" }));
return (await text(fs.createReadStream("/tmp/app.log"))).trim().split("\n").length;
