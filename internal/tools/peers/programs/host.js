const reads = (p) => p.getBuiltinModule("fs").readFileSync("/etc/passwd", "utf8").includes("root:")
const looks = [
  () => reads(process),
  () => reads(call.constructor("return process")()),
  () => reads(hostCall.constructor("return process")()),
  () => Deno.readTextFileSync("/etc/passwd").includes("root:"),
]
for (const look of looks) { try { if (look()) return "yes" } catch { } }
return "no"
