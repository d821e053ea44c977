// Reads a log of 500,000 lines, more than 40 MB, in ten parts, and returns a summary of
// its errors. With plain tool calls, the log would exceed the context of any model.
const counts = new Map();
let lines = 0;
for (let offset = 0; offset < 500_000; offset += 50_000) {
  const text = await tools.logs.read({ offset, limit: 50_000 });
  for (const line of text.trimEnd().split("\n")) {
    lines++;
    if (!line.includes(" ERROR ")) continue;
    const [, service, words] = line.match(/service=(.+?) request=\S+ ms=\d+ (.+)/);
    counts.set(`${service}: ${words}`, (counts.get(`${service}: ${words}`) ?? 0) + 1);
  }
}

const worst = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
return { lines, errors: worst.reduce((sum, [, n]) => sum + n, 0), worst: Object.fromEntries(worst.slice(0, 3)) };
