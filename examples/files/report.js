// Reads every table of a folder and writes a report. Files without a grant in the
// policy cannot be opened.
import { readdir, readFile, writeFile } from "fs/promises";

const sold = {};
for (const name of (await readdir("data")).sort()) {
  const [, ...rows] = (await readFile(`data/${name}`, "utf8")).trim().split("\n");
  for (const row of rows) {
    const [, item, count] = row.split(",");
    sold[item] = (sold[item] ?? 0) + Number(count);
  }
}
await writeFile("out/report.json", JSON.stringify(sold, null, 2));

let outside = "read";
try {
  await readFile("/etc/hostname");
} catch (e) {
  outside = e.code;
}
return { sold, outside };
