// Task: read the log level from the environment
// Want: "info"
require("dotenv").config();
return process.env.LOG_LEVEL || "info";
