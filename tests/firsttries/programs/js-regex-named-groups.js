// Task: which addresses timed out, from logs/app.log?
// Want: ["10.0.0.7","10.0.0.9"]
const log = await tools.github.get_file_contents({ owner: "acme", repo: "shop", path: "logs/app.log" });
return [...log.matchAll(/ERROR timeout from (?<ip>[\d.]+)/g)].map((m) => m.groups.ip);
