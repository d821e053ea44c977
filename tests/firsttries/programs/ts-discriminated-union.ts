// Task: say for each of customers 1 and 99 whether it exists
// Want: ["ok: Acme GmbH","error"]
type Result<T> = { kind: "ok"; value: T } | { kind: "error"; message: string };

async function attempt<T>(f: () => Promise<T>): Promise<Result<T>> {
  try {
    return { kind: "ok", value: await f() };
  } catch (e) {
    return { kind: "error", message: e instanceof Error ? e.message : String(e) };
  }
}

const lines: string[] = [];
for (const id of [1, 99]) {
  const r = await attempt(() => tools.crm.get_customer({ id }));
  lines.push(r.kind === "ok" ? `ok: ${(r.value as { name: string }).name}` : "error");
}
return lines;
