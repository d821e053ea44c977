// Task: on which weekdays were commits made? unique, in order
// Want: ["Monday","Tuesday","Thursday"]
const commits = await tools.github.list_commits({ owner: "acme", repo: "shop" });
const days = commits.map((c) => new Date(c.date).toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" }));
return [...new Set(days)];
