// Sentence: grants
// Task: the version in package.json
// Want: "1.4.2"
const file = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "package.json" });
return (typeof file === "string" ? JSON.parse(file) : file).version;
