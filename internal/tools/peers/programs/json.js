const rows = []
for (let i = 0; i < 12000; i++) rows.push({ id: i, name: "user " + i, mail: "u" + i + "@example.com", tags: ["a", "b", "c"], ok: i % 2 === 0, at: { x: i, y: [i, i + 1] } })
const text = JSON.stringify(rows)
return text.length + ":" + JSON.stringify(JSON.parse(text)).length
