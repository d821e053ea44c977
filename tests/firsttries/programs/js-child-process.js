// Sentence: grants
// Task: list the files of the current folder
// Prints: cannot
try {
  const { execSync } = require("child_process");
  console.log(execSync("ls").toString());
} catch (e) {
  console.log("cannot run commands:", e.message);
}
