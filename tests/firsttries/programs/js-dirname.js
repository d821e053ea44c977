// Task: show where the program runs
// Prints: running
const path = require("path");
console.log("running", path.basename(__filename) ? "from " + __dirname : "");
