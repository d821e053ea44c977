const counts = new Map();
for (let offset = 0; offset < 500000; offset += 50000) {
  const text = await tools.logs.read({ offset, limit: 50000 });
  for (const m of text.matchAll(/ ERROR service=(\S+) request=\S+ ms=\d+ (.*)/g)) {
    const key = `${m[1]}: ${m[2]}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}
return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, 10);
