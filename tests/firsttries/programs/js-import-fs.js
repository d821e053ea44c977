// Task: append two lines to a log in /tmp and read them back
// Want: ["first","second"]
import fs from "fs";
fs.mkdirSync("/tmp/logs", { recursive: true });
fs.appendFileSync("/tmp/logs/a.log", "first\n");
fs.appendFileSync("/tmp/logs/a.log", "second\n");
const lines = fs.readFileSync("/tmp/logs/a.log", "utf8").trim().split("\n");
export default lines;
