// Task: base64-encode "hello, world" and decode it again
// Want: ["aGVsbG8sIHdvcmxk","hello, world"]
const encoded = Buffer.from("hello, world", "utf8").toString("base64");
const decoded = Buffer.from(encoded, "base64").toString("utf-8");
return [encoded, decoded];
