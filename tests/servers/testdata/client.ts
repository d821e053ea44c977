// A client of wexec serve: openapi-fetch with the types that openapi-typescript made
// of /v1/openapi.json.
import createClient from "openapi-fetch"
import type { components, operations, paths } from "./api"

type Run = components["schemas"]["Run"]
type Page = NonNullable<operations["listRuns"]["parameters"]["query"]>

declare const process: { env: Record<string, string | undefined> }
const { URL: baseUrl = "", TOKEN: admin = "" } = process.env

const clientWith = (token: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })

// must returns the data of an answer, or throws its problem.
function must<T>(answer: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`)
  return answer.data
}

function check(what: string, ok: boolean, context?: unknown): void {
  if (!ok) throw new Error(`failed: ${what}: ${JSON.stringify(context)}`)
  console.log(what)
}

type Event = { id: string; type: string; data: string }

// events reads the events of a run from the one after last to the end. It connects
// again when the stream is cut.
async function events(id: string, last = "0"): Promise<Event[]> {
  const all: Event[] = []
  while (all.at(-1)?.type !== "end") {
    const { data, error, response } = await api.GET("/v1/runs/{id}/events", {
      params: { path: { id }, header: { "Last-Event-ID": all.at(-1)?.id ?? last } },
      parseAs: "stream",
    })
    if (!data) throw new Error(`no stream: ${response.status} ${error?.detail}`)
    let text = ""
    const decoder = new TextDecoder()
    const reader = data.getReader()
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) text += decoder.decode(chunk.value, { stream: true })
    } catch {
      // The connection is lost. What arrived counts, and the next stream has the rest.
    }
    text = text.slice(0, text.lastIndexOf("\n\n") + 2) // whole events
    for (const block of text.split("\n\n")) {
      const field = (name: string) => block.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1] ?? ""
      if (field("event")) all.push({ id: field("id"), type: field("event"), data: field("data") })
    }
  }
  return all
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2400; i++) {
    if (await done()) return
    await new Promise(r => setTimeout(r, 50))
  }
  throw new Error(`not after two minutes: ${what}`)
}

const person = clientWith(admin)
const made = must(await person.POST("/v1/tokens", { body: { name: "typescript", scopes: ["run", "read"] } }))
const api = clientWith(made.token)
check("made a token", made.token.startsWith("wx_"))

const first: Run = must(await api.POST("/v1/runs", { params: { query: { wait: "5m" } }, body: { language: "python", code: "6 * 7" } }))
check("ran a program", first.value === 42 && first.state === "done" && first.usage.fuel > 0)

const slow = must(await api.POST("/v1/runs", {
  params: { query: { wait: "0" }, header: { "Idempotency-Key": "slow" } },
  body: { language: "typescript", code: "for (let i = 0; i < 3; i++) { console.log(i); await new Promise(r => setTimeout(r, 150)) } return args.n as number", args: { n: 3 } },
}))
const seen = await events(slow.run_id)
check("followed events", seen.at(-1)?.type === "end" && seen.some(e => e.type === "output"), seen)
const rest = await events(slow.run_id, seen[0]!.id)
check("resumed the stream", rest.length === seen.length - 1)

const listed: string[] = []
let cursor: string | undefined
do {
  const query: Page = { limit: 1, ...(cursor && { cursor }) }
  const page = must(await api.GET("/v1/runs", { params: { query } }))
  listed.push(...page.runs.map(run => run.run_id))
  cursor = page.next
} while (cursor !== undefined)
check("listed runs by pages", listed.length === 2 && listed[0] === slow.run_id)

const endless = must(await api.POST("/v1/runs", {
  params: { query: { wait: "0" } },
  body: { language: "javascript", code: "while (true) {}", limits: { time: "60s", fuel: 1e12 } },
}))
check("cancelled a run", must(await api.POST("/v1/runs/{id}/cancel", { params: { path: { id: endless.run_id } } })).cancelled)
await until("the run has ended", async () => must(await api.GET("/v1/runs/{id}", { params: { path: { id: endless.run_id } } })).error?.code === "cancelled")

const asking = must(await api.POST("/v1/runs", {
  params: { query: { wait: "0" } },
  body: { language: "javascript", code: 'return await tools.mail.send({ to: "ada@example.com", subject: "hi", body: "hi" })' },
}))
let asked: components["schemas"]["Approval"][] = []
await until("the run asks", async () => (asked = must(await person.GET("/v1/approvals")).approvals).length > 0)
const refused = await api.POST("/v1/approvals/{id}", { params: { path: { id: asked[0]!.id } }, body: { decision: "approve" } })
check("an agent cannot answer", refused.error?.code === "denied.scope")
must(await person.POST("/v1/approvals/{id}", { params: { path: { id: asked[0]!.id } }, body: { decision: "approve" } }))
await until("the run has ended", async () => must(await api.GET("/v1/runs/{id}", { params: { path: { id: asking.run_id } } })).status === "ok")
check("answered an approval", true)

// @ts-expect-error: the language is a string
const wrong = await api.POST("/v1/runs", { body: { language: 5, code: "1" } })
check("a wrong request is a problem", wrong.error?.status === 400 && wrong.error.code === "usage.flag")
