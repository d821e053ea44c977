// Sentence: answers
// Task: the version in package.json
// Want: "1.4.2"
const result = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "package.json" });
const text = result.content.find((part) => part.type === "text").text;
return JSON.parse(text).version;
