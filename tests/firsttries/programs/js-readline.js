// Task: count ERROR lines of logs/app.log
// Want: 3
const fs = require("fs");
const readline = require("readline");
const text = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "logs/app.log" });
fs.writeFileSync("/tmp/app.log", text);
const rl = readline.createInterface({ input: fs.createReadStream("/tmp/app.log") });
let errors = 0;
for await (const line of rl) {
  if (line.includes(" ERROR ")) errors++;
}
return errors;
