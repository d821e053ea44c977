package javascript_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestProgramsForNodeFindItsGlobals uses require, module, process and global as
// programs for Node do.
func TestProgramsForNodeFindItsGlobals(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"const { basename } = require('path'); return basename('/a/b')", `"b"`},
		{"const fs = require('node:fs'); return [typeof fs.readFileSync, fs === require('fs'), require.resolve('fs')]", `["function",true,"fs"]`},
		{"if (require.main === module) { module.exports = [__filename, __dirname, module.filename === __filename, exports === module.exports] }\nmodule.exports", `["/tmp/main.js","/tmp",true,true]`},
		{"module.exports = (async () => ({ a: 1 }))()", `{"a":1}`},
		{"global.x = 5; return [globalThis.x, global === globalThis]", "[5,true]"},
		{"const { existsSync } = require('fs'), __dirname = 'mine'; return __dirname + existsSync('/none')", `"minefalse"`},
		{"return [process.env.NAME ?? 'nobody', process.argv, process.cwd(), process.platform, process.exitCode ?? null]", `["nobody",["node","/tmp/main.js"],"/tmp","wasi",null]`},
		{"return [typeof process.hrtime.bigint(), process.hrtime(process.hrtime())[0], process.memoryUsage().heapUsed > 1000, process.uptime() >= 0]", `["bigint",0,true,true]`},
		{"const order = []; setTimeout(() => order.push(4)); Promise.resolve().then(() => order.push(3)); process.nextTick((n) => { order.push(n); process.nextTick(() => order.push(2)) }, 1); order.push(0); await new Promise((r) => setTimeout(r, 5)); return order", "[0,1,2,3,4]"},
		{"process.on('exit', () => {}).once('x', () => {}); return process.emit('x')", "true"},
		{"import process, { env, argv } from 'node:process'; return [process === globalThis.process, typeof env, argv.length]", `[true,"object",2]`},
		{"const Process = process; { const process = 1; return [process, typeof Process.exit] }", `[1,"function"]`},
	} {
		if got := string(run(t, c.code).document); got != c.want {
			t.Errorf("%s\ngives %s, want %s", c.code, got, c.want)
		}
	}
	h := run(t, "process.stdout.write('a'); process.stdout.write(new Uint8Array([98, 10])); process.stderr.write('c\\n')")
	if h.stdout.String() != "ab\n" || h.stderr.String() != "c\n" {
		t.Errorf("stdout is %q, stderr is %q", h.stdout.String(), h.stderr.String())
	}
}

// TestExitEndsTheProgram exits from every place that could go on.
func TestExitEndsTheProgram(t *testing.T) {
	for _, code := range []string{
		"process.exit(%s)",
		"try { process.exit(%s) } catch { console.log('late') } finally { console.log('late') }",
		"const f = async () => { try { process.exit(%s) } catch { console.log('late') } }\nawait f().catch(() => console.log('late'))\nconsole.log('late')",
		"Promise.reject(new Error('x')).catch(() => process.exit(%s))\nawait new Promise(() => {})",
		"setTimeout(() => process.exit(%s), 1)\nsetInterval(() => console.log('late'), 50)",
		"process.nextTick(() => process.exit(%s)); Promise.resolve().then(() => console.log('late'))\nawait 1\nconsole.log('late')",
		"export default () => process.exit(%s)",
		"const f = async () => process.exit(%s)\nf()\nconsole.log('late')",
		"const f = async () => process.exit(%s)\nconst g = async () => { f(); f(); console.log('late') }\ng(); g()\nfor (;;) {}",
		"const f = async () => process.exit(%s)\nf(); require('fs').writeFileSync('/tmp/late', ''); github.late()",
	} {
		for status, want := range map[string]string{
			"": "", "0": "", "2": `{"code":"guest.exit","name":"Error","message":"the program ended with exit(2)","exit":2}`,
		} {
			program := fmt.Sprintf("console.log('early')\n"+code, status)
			h := run(t, program, func(h *host) { h.input["servers"] = []string{"github"} })
			if len(h.started) > 0 {
				t.Errorf("%s\nstarts %q", program, h.started)
			}
			if string(h.document) != want || strings.Contains(h.stdout.String(), "late") || h.stdout.String() != "early\n" {
				t.Errorf("%s\ngives %s, prints %q", program, h.document, h.stdout.String())
			}
		}
	}
	h := &host{input: map[string]any{"file": "main.js", "session": true}}
	g := newGuest(t, h)
	for _, step := range []struct{ code, want string }{
		{"let n = 1; Promise.resolve().then(() => { n = 99 }); process.exit(0)", ""},
		{"n + 1", "2"},
		{"(async () => process.exit(0))(); n = 99", ""},
		{"(async function* () { process.exit(0) })().next(); n = 99", ""},
		{"new Promise(() => process.exit(0)); n = 99", ""},
		{"for (let i = 0; i < 1e5; i++) n += 0; n + 2", "3"},
	} {
		h.input["code"], h.document = step.code, nil
		if err := g.run(t); err != nil {
			t.Fatal(err)
		}
		if string(h.document) != step.want {
			t.Errorf("%s in a session gives %s, want %s", step.code, h.document, step.want)
		}
	}
}

// TestToolsAreFoundUnderTheNamesOfOtherSandboxes calls one tool in all spellings.
func TestToolsAreFoundUnderTheNamesOfOtherSandboxes(t *testing.T) {
	for _, code := range []string{
		"await github.list({n: 1})", "await tools.call('github.list', {n: 1})", "await callTool('github__list', {n: 1})", "await call_tool('mcp__github__list', {n: 1})",
		"await mcp__github__list({n: 1})", "await github__list({n: 1})", "await tools.mcp__github__list({n: 1})", "await tools.github__list({n: 1})",
		"await tools['github.list']({n: 1})", "import { list } from './servers/github'; await list({n: 1})", "import * as g from './servers/github/index.js'; await g.list({n: 1})",
		"import list from '/servers/github/list.ts'; await list({n: 1})", "const { github: g } = require('./servers'); await g.list({n: 1})",
		"JSON.parse(await github.list({n: 1}))",
	} {
		h := run(t, code, func(h *host) {
			h.input["servers"] = []string{"github"}
			h.handle = func(name string, args []byte) answer {
				if name == "wexec:names" {
					return jsonAnswer([]string{"list"})
				}
				return answer{data: fmt.Appendf(nil, "[%q,%s]", name, args)}
			}
		})
		if got := string(h.document); got != `["github.list",{"n":1}]` {
			t.Errorf("%s\ngives %s", code, got)
		}
	}
}
