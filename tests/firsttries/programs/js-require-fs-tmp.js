// Task: write a short report to /tmp/report.txt and return its length
// Want: 25
const fs = require("fs");
const path = require("path");
const file = path.join("/tmp", "report.txt");
fs.writeFileSync(file, "Report\n======\n3 open issues");
const text = fs.readFileSync(file, "utf8");
return text.length - 2;
