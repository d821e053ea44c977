let n = 0
for (let i = 0; i < 1000; i++) n += (AWAIT call("echo", { id: i, name: "widget", tags: ["a", "b"] })).note.length
return n
