// Task: dependencies of the project, sorted
// Want: ["express","zod"]
const raw: any = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "package.json" });
const pkg = typeof raw === "string" ? JSON.parse(raw) : raw;
return Object.keys(pkg.dependencies as Record<string, string>).sort();
