def main():
    by = {}
    for c in call("commits", {"repo": "acme/shop"}):
        if c["date"] < "2026-11-14":
            continue
        a = by.get(c["author"])
        if a is None:
            a = by[c["author"]] = {"commits": 0, "files": 0, "added": 0, "removed": 0}
        a["commits"] += 1
        a["files"] += len(c["files"])
        for f in c["files"]:
            a["added"] += f["additions"]
            a["removed"] += f["deletions"]
    lines = []
    for k in sorted(by.keys()):
        a = by[k]
        lines.append(":".join([k, str(a["commits"]), str(a["files"]), str(a["added"]), str(a["removed"])]))
    return ";".join(lines)
result = main()
