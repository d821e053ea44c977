// Task: the extension and folder of a path
// Want: [".log","/tmp/logs"]
import path from "node:path";
import { fileURLToPath } from "node:url";

const file: string = fileURLToPath("file:///tmp/logs/app.log");
return [path.extname(file), path.dirname(file)];
