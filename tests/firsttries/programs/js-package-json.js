// Task: which dependencies of package.json are not pinned?
// Want: ["express","vitest"]
const raw = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "package.json" });
const pkg = typeof raw === "string" ? JSON.parse(raw) : raw;
return Object.entries({ ...pkg.dependencies, ...pkg.devDependencies })
  .filter(([, v]) => /^[\^~]/.test(v))
  .map(([name]) => name);
