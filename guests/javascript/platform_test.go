package javascript_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestEveryRunHasItsOwnRandomness: 500 restored instances give 500 different
// numbers, and with equal entropy equal ones.
func TestEveryRunHasItsOwnRandomness(t *testing.T) {
	const code = "return [Math.random(), crypto.randomUUID()].join()"
	seen := map[string]int{}
	for i := range 500 {
		h := &host{input: map[string]any{"code": code, "file": "main.js"}, entropy: uint64(i) + 1}
		g := newGuest(t, h)
		if err := g.run(t); err != nil {
			t.Fatal(err)
		}
		seen[string(h.document)]++
		g.module.Close(withHost(h))
	}
	if len(seen) != 500 {
		t.Errorf("500 runs gave %d different numbers", len(seen))
	}
	same := func(h *host) { h.entropy = 7 }
	if a, b := run(t, code, same), run(t, code, same); string(a.document) != string(b.document) {
		t.Errorf("equal entropy gave %s and %s", a.document, b.document)
	}
}

// TestSessionsKeepVariables: the next program of a session has what the one
// before declared, may declare it anew, and sees nothing of its timers.
func TestSessionsKeepVariables(t *testing.T) {
	h := &host{input: map[string]any{"file": "main.js", "session": true}}
	g := newGuest(t, h)
	for i, step := range []struct{ code, want string }{
		{"const a = 5; let b = [1]; function f() { return a + b.length } class C {}; setTimeout(() => { b = null }, 10000); return f()", "6"},
		{"b.push(2); f()", "7"},
		{"const a = 10; return f() + typeof C", `"12function"`},
		{"throw new Error('no matter')", ""},
		{"return a", "10"},
		{"const broken = ;", ""},
		{"await Promise.resolve(b.length)", "2"},
	} {
		h.input["code"] = step.code
		if err := g.run(t); err != nil {
			t.Fatal(err)
		}
		if got := string(h.document); step.want != "" && got != step.want {
			t.Errorf("program %d gave %s, want %s", i+1, got, step.want)
		}
	}
}

// TestCallsOverlap: sixteen calls from Promise.all are in flight at once.
func TestCallsOverlap(t *testing.T) {
	begun := time.Now()
	h := run(t, "return (await Promise.all(Array.from({ length: 16 }, (_, i) => tools.a.wait({ i })))).length", func(h *host) {
		h.handle = func(string, []byte) answer { return answer{data: []byte("1"), after: 300 * time.Millisecond} }
	})
	if string(h.document) != "16" || h.maxInFlight != 16 {
		t.Errorf("%s, %d in flight after %v", h.document, h.maxInFlight, time.Since(begun))
	}
}

// TestToolsAreNames: what a program writes reaches the host as a name and
// arguments, whatever the spelling of the call.
func TestToolsAreNames(t *testing.T) {
	tests := []struct{ code, want string }{
		{"tools.github.list({ limit: 3 })", `github.list{"limit":3}`},
		{"github.list({ limit: 3 })", `github.list{"limit":3}`},
		{"github.list()", `github.list{}`},
		{"github.list(undefined)", `github.list{}`},
		{"github.list('a', 2)", `github.list["a",2]`},
		{"github.list([1])", `github.list[[1]]`},
		{"github.list('a')", `github.list["a"]`},
		{"github.list.call({ a: 1 })", `github.list{"a":1}`},
		{"github.list.call(null, { a: 1 })", `github.list{"a":1}`},
		{"tools['my-server']['my.tool']({})", `my-server.my.tool{}`},
		{"tools.mcp__github__list({ a: 1 })", `github.list{"a":1}`},
		{"tools['github.list']({})", `github.list{}`},
		{"const { list } = github; list({ a: 1 })", `github.list{"a":1}`},
		{"const { github: g } = tools; g.listCommits()", `github.listCommits{}`},
		{"shop.class({ new: 1 })", `shop.class{"new":1}`},
		{"github.list({ when: new Date(0), big: 2n ** 60n, set: new Set([1]) })", `github.list{"when":"1970-01-01T00:00:00.000Z","big":"1152921504606846976","set":[1]}`},
		{"searchTools('issues', { limit: 3 })", `wexec:search{"query":"issues","limit":3,"detail":"summary"}`},
		{"describe_tool(github.list)", `wexec:describe{"name":"github.list"}`},
		{"tools.searchTools('x', 2, 'full')", `wexec:search{"query":"x","limit":2,"detail":"full"}`},
		{"pii.domain('[EMAIL_1]')", `wexec:pii{"op":"domain","values":["[EMAIL_1]"]}`},
		{"progress(1, 2, 'half')", `wexec:progress{"done":1,"total":2,"text":"half"}`},
		{"Object.keys(github)", `wexec:names{"server":"github"}`},
		{"const { list } = await import('/mcp-servers/github/list.ts'); list({ a: 1 })", `github.list{"a":1}`},
		{"const { github: g } = await import('tools'); g.list({})", `github.list{}`},
	}
	for _, test := range tests {
		h := run(t, "await (async () => { "+test.code+" })()", func(h *host) {
			h.input["servers"] = []string{"github", "shop"}
			h.handle = func(string, []byte) answer { return jsonAnswer([]string{"list"}) }
		})
		if len(h.started) == 0 || h.started[0] != test.want {
			t.Errorf("%s reached the host as %q, want %q (%s)", test.code, h.started, test.want, h.document)
		}
	}
	quiet := run(t, "const x = tools.anything.at.all; return [typeof tools.githb, typeof tools.a.b, 'github' in tools, Object.keys(tools), typeof nothing]",
		func(h *host) { h.input["servers"] = []string{"github"} })
	if string(quiet.document) != `["function","function",true,["github"],"undefined"]` || len(quiet.started) > 0 {
		t.Errorf("reading names: %s, calls %q", quiet.document, quiet.started)
	}
}

// TestHelpersLoseNoBranch covers attempt, settle, mapLimit and pages.
func TestHelpersLoseNoBranch(t *testing.T) {
	tests := []struct{ code, want string }{
		{"let n = 0; return await attempt(async () => { if (n++ < 2) throw new ToolError('x', { code: 'upstream.unavailable' }); return n }, { retries: 3, backoff: 1 })", "3"},
		{"return await attempt(async () => { throw new Error('x') }, { retries: 1, backoff: 1, fallback: 'fb' })", `"fb"`},
		{"let n = 0; try { await attempt(async () => { n++; throw new PolicyError('no', { code: 'denied.tool' }) }, { backoff: 1 }) } catch { } return n", "1"},
		{"return await attempt(() => new Promise(() => {}), { retries: 0, timeout: 5, fallback: (e) => e.code })", `"tool.timeout"`},
		{"return await settle([1, Promise.reject(new ToolError('bad', { code: 'tool.failed', tool: 'a.b' }))])", `[{"ok":true,"value":1},{"ok":false,"error":{"code":"tool.failed","tool":"a.b","message":"bad","hint":null}}]`},
		{"return Object.keys(await settle({ a: 1, b: () => 2 }))", `["a","b"]`},
		{"let high = 0, now = 0; const r = await mapLimit([1, 2, 3, 4, 5], 2, async (x) => { high = Math.max(high, ++now); await new Promise((r) => setTimeout(r, 1)); now--; return x * 2 }); return [r, high]", "[[2,4,6,8,10],2]"},
		{"const all = []; for await (const x of pages(tools.a.list, { limit: 2 })) all.push(x); return all", "[1,2,3]"},
		{"return await pages('a.list')", "[1,2,3]"},
	}
	for _, test := range tests {
		h := run(t, test.code, func(h *host) {
			h.handle = func(name string, args []byte) answer {
				if strings.Contains(string(args), `"cursor":"two"`) {
					return answer{data: []byte(`{"items":[3]}`)}
				}
				return answer{data: []byte(`{"items":[1,2],"nextCursor":"two"}`)}
			}
		})
		if string(h.document) != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.code, h.document, test.want)
		}
	}
}

// TestFilesAndImports covers fs, standard input, files beside the program and
// packages.
func TestFilesAndImports(t *testing.T) {
	files := map[string]string{
		"app/util.js":                         "import data from './data.json'\nexport const twice = (x) => x * 2\nexport default data.n\nexport { sub } from './lib/sub'",
		"app/data.json":                       `{"n": 21}`,
		"app/lib/sub.js":                      "export const sub = (a, b) => a - b",
		"app/lib/index.js":                    "export default 'index'",
		"app/broken.js":                       "export const a = 1\nconst = 2",
		"app/fails.js":                        "export function f() {\n  throw new Error('inside')\n}",
		"app/node_modules/pure/package.json":  `{"name": "pure", "main": "main.js"}`,
		"app/node_modules/pure/main.js":       "const path = require('path')\nexports.name = path.basename('/x/pure')\nexports.dep = require('./dep')",
		"app/node_modules/pure/dep.js":        "module.exports = { v: 7 }",
		"app/node_modules/esm/package.json":   `{"exports": {".": {"import": "./src/index.mjs"}, "./*": "./src/*.mjs"}}`,
		"app/node_modules/esm/src/index.mjs":  "export default 'esm'",
		"app/node_modules/esm/src/more.mjs":   "export const more = 1",
		"app/node_modules/addon/package.json": `{"gypfile": true}`,
		"secret.txt":                          "outside",
	}
	tests := []struct{ code, want string }{
		{"import n, { twice, sub } from './util.js'\nreturn [n, twice(n), sub(5, 2)]", "[21,42,3]"},
		{"import n from './util'\nn", "21"},
		{"import d from './data.json' with { type: 'json' }\nreturn d", ""},
		{"import i from './lib'\ni", `"index"`},
		{"const { twice } = await import('./util.js'); return twice(4)", "8"},
		{"import pure, { name } from 'pure'\nreturn [name, pure.dep.v]", `["pure",7]`},
		{"import e from 'esm'\nimport { more } from 'esm/more'\nreturn [e, more]", `["esm",1]`},
		{"import { readFile, writeFile, mkdir, readdir, stat, rm, rename, appendFile, copyFile, access } from 'node:fs/promises'\nawait mkdir('/tmp/a/b', { recursive: true })\nawait writeFile('/tmp/a/b/x.txt', 'one')\nawait appendFile('/tmp/a/b/x.txt', ' two')\nawait rename('/tmp/a/b/x.txt', '/tmp/a/y.txt')\nawait copyFile('/tmp/a/y.txt', '/tmp/z.txt')\nawait access('/tmp/z.txt')\nconst s = await stat('/tmp/z.txt')\nconst list = await readdir('/tmp/a')\nawait rm('/tmp/a', { recursive: true })\nreturn [await readFile('/tmp/z.txt', 'utf8'), s.size, s.isFile(), list, await readdir('/tmp')]", `["one two",7,true,["b","y.txt"],["z.txt"]]`},
		{"import fs from 'fs'\nfs.writeFileSync('/tmp/b', new Uint8Array([1, 2]))\nreturn [fs.existsSync('/tmp/b'), fs.existsSync('/tmp/c'), [...fs.readFileSync('/tmp/b')]]", "[true,false,[1,2]]"},
		{"return [await stdin.text(), (await stdin.lines()).length]", `["{\"a\": 1}\nline 2\n",2]`},
	}
	setup := func(h *host) {
		h.files = files
		h.input["root"] = "/app"
		h.input["file"] = "app/main.js" // as a caller outside would name it
		h.stdin = "{\"a\": 1}\nline 2\n"
	}
	for _, test := range tests {
		h := run(t, test.code, setup)
		if test.want != "" && string(h.document) != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.code, h.document, test.want)
		}
	}
	faults := []struct{ code, wantCode, file, part string }{
		{"import './broken.js'", "guest.syntax", "/app/broken.js", ""},
		{"import { f } from './fails.js'\nf()", "guest.exception", "/app/fails.js", "inside"},
		{"import '../secret.txt'", "guest.exception", "app/main.js", "secret"},
		{"import './nothing.js'", "guest.exception", "app/main.js", "nothing"},
		{"import 'addon'", "guest.exception", "app/main.js", "native addon"},
		{"import 'http://x/y.js'", "guest.exception", "app/main.js", "http"},
		{"import { readFile } from 'fs/promises'\nawait readFile('/none')", "guest.exception", "app/main.js", "ENOENT"},
	}
	for _, test := range faults {
		e := run(t, test.code, setup).fault(t)
		if e.Code != test.wantCode || !strings.Contains(e.Message, test.part) || (e.File != "" && e.File != test.file) {
			t.Errorf("%s: %+v", test.code, e)
		}
	}
}

// TestFetchReadsWhatTheHostGives drives fetch over the prelude's own calls.
func TestFetchReadsWhatTheHostGives(t *testing.T) {
	chunks := []string{`{"a":`, `[1,2]}`, ""}
	h := run(t, `const r = await fetch('https://api.example.com/x?y=1', { method: 'post', body: JSON.stringify({ q: 1 }), headers: { 'X-A': 'b' } })
return [r.ok, r.status, r.headers.get('content-type'), await r.json(), r.bodyUsed]`, func(h *host) {
		h.handle = func(name string, args []byte) answer {
			switch name {
			case "wexec:fetch":
				return jsonAnswer(map[string]any{"status": 200, "statusText": "OK", "url": "https://api.example.com/x?y=1", "headers": [][]string{{"Content-Type", "application/json"}}, "body": 1})
			case "wexec:read":
				next := chunks[0]
				chunks = chunks[1:]
				return answer{kind: answerBytes, data: []byte(next)}
			}
			return jsonAnswer(nil)
		}
	})
	if string(h.document) != `[true,200,"application/json",{"a":[1,2]},true]` {
		t.Errorf("%d %s", h.outcome, h.document)
	}
	var sent struct {
		Method, URL, Body string
		Headers           [][2]string
	}
	if json.Unmarshal([]byte(strings.TrimPrefix(h.started[0], "wexec:fetch")), &sent) != nil || sent.Method != "POST" || sent.Body != "eyJxIjoxfQ==" {
		t.Errorf("the request was %s", h.started[0])
	}
	denied := run(t, "await fetch('http://x.test/')", func(h *host) {
		h.handle = func(string, []byte) answer {
			return answer{kind: answerError, data: []byte(`{"code":"denied.network","message":"no host is granted"}`)}
		}
	})
	if e := denied.fault(t); e.Code != "denied.network" || e.Line != 1 {
		t.Errorf("%+v", e)
	}
}

// TestDeadZonesStayDead: dropping the checks where initialisation is certain
// (patches/03-tdz.patch) drops none that is needed.
func TestDeadZonesStayDead(t *testing.T) {
	code, err := os.ReadFile("testdata/deadzones.js")
	if err != nil {
		t.Fatal(err)
	}
	h := run(t, string(code))
	if h.outcome != outcomeValue || string(h.document) != "[]" {
		t.Errorf("%d %s", h.outcome, h.document)
	}
}
