const lines = []
for (let i = 0; i < 80000; i++) lines.push("item " + i + " = " + (i * 7 % 1000))
const all = lines.join("\n")
let sevens = 0
for (const m of all.matchAll(/item (\d+) = (\d+)/g)) if (m[2].endsWith("7")) sevens++
return all.length + ":" + sevens + ":" + "the quick brown fox ".repeat(4000).replace(/\b(\w)(\w*)/g, (_, a, b) => a.toUpperCase() + b).length
