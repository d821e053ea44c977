// Task: the base name of a path
// Want: "app.log"
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const path = require("path");
return path.basename("logs/app.log");
