// Sentence: answers
// Task: headings of the README
// Want: ["Shop","Install","Use"]
const res = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "README.md" });
const text = typeof res === "string" ? res : res.text ?? res.content?.[0]?.text;
return text.split("\n").filter((l) => l.startsWith("#")).map((l) => l.replace(/^#+\s*/, ""));
