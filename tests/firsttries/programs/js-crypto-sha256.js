// Task: what is the sha256 of the README?
// Want: "ad305722"
const crypto = require("crypto");
const readme = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "README.md" });
const digest = crypto.createHash("sha256").update(readme).digest("hex");
return digest.slice(0, 8);
