// Task: print the platform and the temp folder
// Prints: /tmp
const os = require("os");
console.log(os.platform(), os.tmpdir(), os.EOL === "\n");
