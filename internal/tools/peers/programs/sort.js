const all = []
let x = 12345
for (let i = 0; i < 200000; i++) { x = (x * 1103 + 12345) % 2147483647; all.push(x) }
all.sort((a, b) => a - b)
return all[1000] + ":" + all[199000]
