const by = {}
for (const c of AWAIT call("commits", { repo: "acme/shop" })) {
  if (c.date < "2026-11-14") continue
  const a = by[c.author] ?? (by[c.author] = { commits: 0, files: 0, added: 0, removed: 0 })
  a.commits++
  a.files += c.files.length
  for (const f of c.files) { a.added += f.additions; a.removed += f.deletions }
}
return Object.keys(by).sort().map((k) => [k, by[k].commits, by[k].files, by[k].added, by[k].removed].join(":")).join(";")
