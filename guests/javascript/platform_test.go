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
// before declared, may declare it again, and sees nothing of its timers.
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
		{"import { basename as base, join } from 'path'; import fs, { existsSync } from 'node:fs'; import * as url from 'url'\nlet n = 1; const next = () => ++n; return base('/a/b') + join('c', 'd')", `"bc/d"`},
		{"next(); return [n, base('/x/y'), typeof fs.readFileSync, typeof url.URL, existsSync('/none')]", `[2,"y","function","function",false]`},
		{"import { nothing } from 'path'; return nothing", ""},
		{"import { basename } from 'path'\nexport const kept = basename('/a/k'); export default kept", `"k"`},
		{"kept + basename('/m')", `"km"`},
		{"export { basename as b } from 'path'; return 1", "1"},
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
		{"artifacts.put('a', [1], { type: 'text/csv' })", `artifacts.put{"name":"a","data":[1],"type":"text/csv"}`},
		{"tools.artifacts.put({ name: 'a', data: new Uint8Array(2) })", `artifacts.put{"name":"a","data":{"$bytes":"AAA="}}`},
		{"artifacts.read('sha256:x', { from: 2 })", `artifacts.read{"id":"sha256:x","from":2}`},
		{"const { artifacts: a } = await import('tools'); a.read({ artifact: 'sha256:x', name: 'a' }, { match: 'b' })", `artifacts.read{"id":"sha256:x","match":"b"}`},
		{"waitFor('paid')", `wexec:wait_for{"name":"paid"}`},
		{"tools.wait_for('paid', { timeout: 60 })", `wexec:wait_for{"name":"paid","timeout":60}`},
		{"const { waitFor: w } = await import('tools'); w('paid')", `wexec:wait_for{"name":"paid"}`},
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

func TestSleepWaitsForSeconds(t *testing.T) {
	h := run(t, "const at = performance.now(); await Promise.all([sleep(0.02), tools.sleep(0)]); "+
		"const wrong = await sleep('soon').catch((e) => e.name); const own = await (async () => { const sleep = (ms) => ms; return sleep(3); })(); "+
		"return [performance.now() - at >= 19, wrong, own]")
	if string(h.document) != `[true,"RangeError",3]` || len(h.started) > 0 {
		t.Errorf("%s, calls %q", h.document, h.started)
	}
}

// TestEveryNameOfAToolCanBeCalled: a property that every object has is a tool
// if the server has a tool of that name, and the prelude's own calls are not tools.
func TestEveryNameOfAToolCanBeCalled(t *testing.T) {
	names := []string{"constructor", "__proto__", "toString", "then", "hasOwnProperty", "prototype", "valueOf", "toJSON", "name", "length"}
	called := func(h *host) {
		h.input["servers"] = []string{"github"}
		h.handle = func(name string, _ []byte) answer {
			if name == "wexec:names" {
				return jsonAnswer(names)
			}
			return jsonAnswer(name)
		}
	}
	for _, name := range names {
		for _, code := range []string{"return github." + name + "({ a: 1 })", "return tools.github['" + name + "']()"} {
			if h := run(t, code, called); string(h.document) != `"github.`+name+`"` {
				t.Errorf("%s gave %s", code, h.document)
			}
		}
	}
	for _, code := range []string{"const g = await github; return g.list()", "return (await (async () => tools.github)()).list()", "return (await Promise.resolve(github)).list()"} {
		if h := run(t, code, called); string(h.document) != `"github.list"` {
			t.Errorf("a server with a tool named then, awaited: %s gave %d %s", code, h.outcome, h.document)
		}
	}
	h := run(t, "return [github.then, github.constructor, `${github}`, github.hasOwnProperty('list'), typeof github.toString, 'list' in github]", func(h *host) {
		h.input["servers"] = []string{"github"}
		h.handle = func(string, []byte) answer { return jsonAnswer([]string{"list"}) }
	})
	if want := `[null,null,"[github]",true,"function",true]`; string(h.document) != want {
		t.Errorf("without such tools: %s, want %s", h.document, want)
	}
	for _, code := range []string{"await tools['wexec:names']()", "await tools['wexec:fetch']({ method: 'GET', url: 'http://x/' })", "await tools['wexec:a.b']()", "await tools['wexec:a'].b()", "await pages('wexec:names')"} {
		h := run(t, code, called)
		if e := h.fault(t); e.Code != "tool.unknown" || len(h.started) != 0 {
			t.Errorf("%s: %+v, %q", code, e, h.started)
		}
	}
}

// TestClassesAreShownAsInNode: what the platform defines as classes.
func TestClassesAreShownAsInNode(t *testing.T) {
	h := run(t, "console.log(URL, [Headers], ToolError, Map, class A extends URL {}, setTimeout, navigator.userAgent)")
	if want := "[class URL] [ [class Headers] ] [class ToolError extends Error] [Function: Map] [class A extends URL] [Function: setTimeout] QuickJS/2025-04-26\n"; h.stdout.String() != want {
		t.Errorf("%s, want %s", h.stdout.String(), want)
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

// TestFilesAndImports covers fs, standard input, files next to the program and
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
		"app/node_modules/dual/package.json":  `{"exports": {".": {"types": "./t.d.ts", "import": "./e.mjs", "require": "./c.cjs"}}}`,
		"app/node_modules/dual/e.mjs":         "export default 'es'; export const dual = 'es'",
		"app/node_modules/dual/c.cjs":         "module.exports = 'common'",
		"app/node_modules/asks/package.json":  `{"main": "./lib/"}`,
		"app/node_modules/asks/lib/index.js":  "exports.answer = [require('dual'), process.env.NODE_ENV]",
		"app/node_modules/built/package.json": `{"main": "build/Release/x.node"}`,
		"app/node_modules/gyp/package.json":   `{"main": "i.js", "dependencies": {"node-gyp-build": "^4"}}`,
		"app/node_modules/empty/package.json": `{"main": "gone.js"}`,
		"app/lib/meta.mjs":                    "export const meta = { ...import.meta }",
		"app/bad.json":                        "{no}",
		"secret.txt":                          "outside",
	}
	tests := []struct{ code, want string }{
		{"import n, { twice, sub } from './util.js'\nreturn [n, twice(n), sub(5, 2)]", "[21,42,3]"},
		{"import n from './util'\nn", "21"},
		{"import d from './data.json' with { type: 'json' }\nreturn d", `{"n":21}`},
		{"import d from './data.json'\nexport default d.n", "21"},
		{"import './data.json' with { 'type': 'json', }; export { default as d } from './data.json' with {}\nreturn 1", "1"},
		{"const { default: d } = await import('./data.json', { with: { type: 'json' } }); return d.n", "21"},
		{"import d, { dual } from 'dual'\nimport { answer } from 'asks'\nreturn [d, dual, answer]", `["es","es",["common","production"]]`},
		{"import i from './lib'\ni", `"index"`},
		{"const { twice } = await import('./util.js'); return twice(4)", "8"},
		{"import pure, { name } from 'pure'\nreturn [name, pure.dep.v]", `["pure",7]`},
		{"import e from 'esm'\nimport { more } from 'esm/more'\nreturn [e, more]", `["esm",1]`},
		{"import { readFile, writeFile, mkdir, readdir, stat, rm, rename, appendFile, copyFile, access } from 'node:fs/promises'\nawait mkdir('/tmp/a/b', { recursive: true })\nawait writeFile('/tmp/a/b/x.txt', 'one')\nawait appendFile('/tmp/a/b/x.txt', ' two')\nawait rename('/tmp/a/b/x.txt', '/tmp/a/y.txt')\nawait copyFile('/tmp/a/y.txt', '/tmp/z.txt')\nawait access('/tmp/z.txt')\nconst s = await stat('/tmp/z.txt')\nconst list = await readdir('/tmp/a')\nawait rm('/tmp/a', { recursive: true })\nreturn [await readFile('/tmp/z.txt', 'utf8'), s.size, s.isFile(), list, await readdir('/tmp')]", `["one two",7,true,["b","y.txt"],["z.txt"]]`},
		{"import fs from 'fs'\nfs.writeFileSync('/tmp/b', new Uint8Array([1, 2]))\nreturn [fs.existsSync('/tmp/b'), fs.existsSync('/tmp/c'), [...fs.readFileSync('/tmp/b')]]", "[true,false,[1,2]]"},
		{"import { meta } from './lib/meta.mjs'\nimport { fileURLToPath } from 'node:url'\nconst { url, filename, dirname, main } = import.meta\nreturn [url, filename, dirname, main, process.argv[1] === fileURLToPath(url), meta]",
			`["file:///tmp/main.js","/tmp/main.js","/tmp",true,true,{"dirname":"/app/lib","filename":"/app/lib/meta.mjs","main":false,"url":"file:///app/lib/meta.mjs"}]`},
		{"return [(await import(new URL('./util.js', import.meta.url))).default, (await import('file:///app/util.js')).default, require(__dirname + '/data.json').n]", "[21,21,21]"},
		{"return [(await (0, eval)('import(\"./util.js\")')).default, (await new Function('return import(\"./util\")')()).default]", "[21,21]"},
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
		{"import '/tmp/../secret.txt'", "guest.exception", "app/main.js", "secret"},
		{"await import('file:///secret.txt')", "guest.exception", "app/main.js", "secret"},
		{"await import('file://host/app/util.js')", "guest.exception", "app/main.js", "host"},
		{"import './my-secret.json'", "guest.exception", "app/main.js", "my-secret"},
		{"import './nothing.js'", "guest.exception", "app/main.js", "nothing"},
		{"import 'addon'", "guest.exception", "app/main.js", "native addon"},
		{"import 'built'", "guest.exception", "app/main.js", "'built' is a native addon"},
		{"import 'gyp'", "guest.exception", "app/main.js", "'gyp' is a native addon"},
		{"import './x.node'", "guest.exception", "app/main.js", "x.node"},
		{"import 'empty'", "guest.exception", "app/main.js", "empty"},
		{"import './bad.json'", "guest.exception", "app/main.js", "/app/bad.json: "},
		{"import './data.json' with { type: 5 }", "guest.syntax", "app/main.js", "string expected"},
		{"import 'http://x/y.js'", "guest.exception", "app/main.js", "http"},
		{"import { readFile } from 'fs/promises'\nawait readFile('/none')", "denied.file", "app/main.js", "EACCES"},
		{"import { readFile } from 'fs/promises'\nawait readFile('none')", "guest.exception", "app/main.js", "ENOENT: no such file or directory, open '/tmp/none'"},
	}
	for _, test := range faults {
		e := run(t, test.code, setup).fault(t)
		if e.Code != test.wantCode || !strings.Contains(e.Message, test.part) || (e.File != "" && e.File != test.file) {
			t.Errorf("%s: %+v", test.code, e)
		}
		if strings.Contains(e.Hint, "--") {
			t.Errorf("%s: the hint %q names a flag of the command", test.code, e.Hint)
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
	gone := run(t, "const a = 1\nconst r = await fetch('http://x.test/')", func(h *host) {
		h.handle = func(string, []byte) answer {
			return answer{kind: answerError, data: []byte(`{"code":"upstream.unavailable","message":"the request to x.test failed"}`)}
		}
	})
	if e := gone.fault(t); e.Code != "upstream.unavailable" || e.Name != "TypeError" || e.Message != "fetch failed" || e.Line != 2 || !strings.Contains(e.Stack, "caused by: ToolError: the request to x.test failed") {
		t.Errorf("a host that is not there: %+v", e)
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
