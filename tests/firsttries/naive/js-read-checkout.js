// Sentence: grants
// Task: the version in package.json
// Want: "1.4.2"
const fs = require("fs");
return JSON.parse(fs.readFileSync("package.json", "utf8")).version;
