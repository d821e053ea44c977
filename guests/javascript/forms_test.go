package javascript_test

import (
	"strings"
	"testing"
	"time"
)

// TestEveryFormOfProgramGivesItsValue runs the forms a program may have.
func TestEveryFormOfProgramGivesItsValue(t *testing.T) {
	tests := []struct{ name, code, value string }{
		{"return", "return 1 + 1", "2"},
		{"last expression", "const a = 2\na * 21", "42"},
		{"last expression with a semicolon and a comment", "1 + 2; // three\n/* end */", "3"},
		{"last expression is a promise", "async function main() { return 5 }\nmain()", "5"},
		{"function declared after the last expression", "main()\nfunction main() { return 7 }", "7"},
		{"object in parentheses", "({ a: 1 })", `{"a":1}`},
		{"top-level await", "await Promise.resolve(3)", "3"},
		{"return in a block", "if (true) { return 'in' }\nreturn 'out'", `"in"`},
		{"return without a value", "5\nreturn", ""},
		{"loop at the end has no value", "let s = 0; for (const x of [1, 2]) s += x", ""},
		{"declaration at the end has no value", "5\nconst x = 6", ""},
		{"condition at the end has no value", "if (true) 5", ""},
		{"empty", "", ""},
		{"only a comment", "// nothing", ""},
		{"hashbang", "#!/usr/bin/env node\nreturn 1", "1"},
		{"directive", "'use strict'\nreturn (function () { return this === undefined })()", "true"},
		{"default export", "export default 8", "8"},
		{"default export of a function", "export default async function (args) { return args.n + 1 }", "6"},
		{"default export of a named function", "export default function main({ n }) { return n * 2 }", "10"},
		{"default export of an arrow", "export default ({ n }) => n", "5"},
		{"default export beats the last expression", "export default 1\n2", "1"},
		{"named default", "const v = 4\nexport { v as default }", "4"},
		{"module with return", "import path from 'path'\nreturn path.join('a', 'b')", `"a/b"`},
		{"module with a last expression", "import { join } from 'node:path'\njoin('a', 'b')", `"a/b"`},
		{"exports are harmless", "export const a = 1\nexport function f() { return a }\nexport class C {}\nf() + 1", "2"},
		{"namespace import", "import * as p from 'path'\nreturn p.basename('/x/y.z')", `"y.z"`},
		{"dynamic import", "const { basename } = await import('path')\nreturn basename('/q/r')", `"r"`},
		{"fenced", "```js\nreturn 9\n```", "9"},
		{"fenced with blank lines", "\n```javascript\nconst a = 1\nreturn a\n```\n\n", "1"},
		{"sloppy", "implicit = 5\nreturn implicit + (function () { return typeof this })().length", "11"},
		{"await in for", "let n = 0\nfor await (const x of [Promise.resolve(1), 2]) n += x\nreturn n", "3"},
		{"shadowed server", "const github = 1\nreturn github", "1"},
		{"timers hold a program without a value", "setTimeout(() => console.log('late'), 2)", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := run(t, test.code, func(h *host) {
				h.input["args"] = map[string]any{"n": 5}
				h.input["servers"] = []string{"github"}
			})
			if test.value == "" {
				if h.outcome != outcomeNothing {
					t.Fatalf("outcome %d %s, want none", h.outcome, h.document)
				}
				return
			}
			if h.outcome != outcomeValue || string(h.document) != test.value {
				t.Fatalf("outcome %d %s, want %s", h.outcome, h.document, test.value)
			}
		})
	}
}

// TestTimersDoNotHoldAFinishedProgram: a race against a long timer ends when it
// is won.
func TestTimersDoNotHoldAFinishedProgram(t *testing.T) {
	begun := time.Now()
	h := run(t, "return await Promise.race([Promise.resolve(1), new Promise((_, no) => setTimeout(no, 30000))])")
	if string(h.document) != "1" || time.Since(begun) > 25*time.Second {
		t.Fatalf("%s after %v", h.document, time.Since(begun))
	}
}

// TestErrorsNameThePlaceInTheProgram: code, name, message, line and column are
// those of the program's own text.
func TestErrorsNameThePlaceInTheProgram(t *testing.T) {
	failing := func(h *host) {
		h.input["servers"] = []string{"github"}
		h.handle = func(name string, args []byte) answer {
			switch name {
			case "github.denied":
				return answer{kind: answerError, data: []byte(`{"code":"denied.tool","message":"not allowed","rule":"policy.yaml:3","tool":"github.denied"}`)}
			case "github.slow":
				return answer{kind: answerError, data: []byte(`{"code":"tool.failed","message":"broke","tool":"github.slow"}`), after: time.Millisecond}
			}
			return answer{kind: answerError, data: []byte(`{"code":"tool.unknown","message":"no tool ` + name + `","hint":"did you mean tools.github"}`)}
		}
	}
	tests := []struct {
		name, code               string
		wantCode, wantName, part string
		line, column             int
		hint                     string
	}{
		{"reference", "const a = 1\n  nosuch(a)", "guest.exception", "ReferenceError", "nosuch is not defined", 2, 3, ""},
		{"thrown in a callback", "[1].map(x => {\n  throw new TypeError('cb')\n})", "guest.exception", "TypeError", "cb", 2, 22, ""},
		{"thrown in an async function", "async function f() {\n  await null\n  throw new Error('later')\n}\nawait f()", "guest.exception", "Error", "later", 3, 18, ""},
		{"thrown in a generator", "function* g() {\n  yield 1\n  null.x\n}\n[...g()]", "guest.exception", "TypeError", "Cannot read properties of null", 3, 7, ""},
		{"thrown in a timer", "setTimeout(() => {\n  throw new Error('tick')\n}, 1)", "guest.exception", "Error", "tick", 2, 18, ""},
		{"unhandled rejection", "Promise.reject(new Error('lost'))\n1", "guest.exception", "Error", "lost", 1, 25, ""},
		{"not a function", "const items = {}\nitems.mapp(1)", "guest.exception", "TypeError", "items.mapp is not a function", 2, 11, ""},
		{"syntax", "const a = 1\nconst = 5", "guest.syntax", "SyntaxError", "", 2, 7, ""},
		{"syntax of a module", "import a from 'path'\nlet let = 1", "guest.syntax", "SyntaxError", "", 2, 5, ""},
		{"smart quotes", "return “x”", "guest.syntax", "SyntaxError", "", 1, 8, "typographic quotes"},
		{"python", "def f(x):\n    return x", "guest.syntax", "SyntaxError", "", 1, 0, "Python"},
		{"types", "const n: number = 1", "guest.syntax", "SyntaxError", "", 1, 0, "TypeScript"},
		{"await outside async", "function f() { return await g() }", "guest.syntax", "SyntaxError", "", 1, 0, "async"},
		{"require of a missing package", "const _ = require('lodash')", "guest.exception", "Error", "lodash", 1, 19, "arrays"},
		{"exit", "process.exit(3)", "guest.exit", "Error", "the program ended with exit(3)", 0, 0, ""},
		{"content of an answer", "const answer = {}\nreturn answer.content[0].text", "guest.exception", "TypeError", "undefined", 2, 0, "unwrapped already"},
		{"near name", "consol.log(1)", "guest.exception", "ReferenceError", "consol", 1, 0, "did you mean console"},
		{"missing package", "const a = 1\nimport _ from 'lodash'", "guest.exception", "Error", "lodash", 2, 15, "arrays"},
		{"unknown tool", "await tools.githb.list()", "tool.unknown", "ToolError", "githb.list", 1, 0, "did you mean tools.github"},
		{"denied", "const x = 1\nawait github.denied({})", "denied.tool", "PolicyError", "not allowed", 2, 0, ""},
		{"fails later", "await Promise.all([\n  1,\n  github.slow(),\n])", "tool.failed", "ToolError", "broke", 3, 0, ""},
		{"never awaited", "github.slow()\n5", "tool.failed", "ToolError", "broke", 1, 0, ""},
		{"forgotten await", "const r = github.slow({}).catch(() => ({}))\nr.items.map(x => x)", "guest.exception", "TypeError", "Cannot read properties of undefined", 2, 0, "await"},
		{"thrown text", "throw 'words'", "guest.exception", "Error", "words", 1, 1, "throw new Error"},
		{"thrown object", "const a = 1\nthrow { code: 42 }", "guest.exception", "Error", "{ code: 42 }", 2, 1, ""},
		{"thrown null", "throw null", "guest.exception", "Error", "null", 1, 1, ""},
		{"thrown text of many", "const no = (x) => { // throw 'none'\n  if (x === 1) throw 'first';\n  if (x === 2) throw \"second\";\n  throw `third ${x}`\n}\nno(3)", "guest.exception", "Error", "third 3", 4, 3, ""},
		{"rejected text", "await new Promise((done, reject) => {\n  setTimeout(() => reject('late'), 1)\n})", "guest.exception", "Error", "late", 2, 20, ""},
		{"thrown value of a name", "const e = 'x'.repeat(3)\nconst s = \"throw 'xxx'\"\nthrow e", "guest.exception", "Error", "xxx", 3, 1, ""},
		{"thrown text of two lines", "const f = (x) => {\n  if (x) throw 'no';\n  throw 'no'\n}\nf(1)", "guest.exception", "Error", "no", 0, 0, "lines 2, 3"},
		{"stalled", "const a = 1\nawait new Promise(() => {})", "guest.stalled", "", "a promise that nothing can settle", 2, 0, ""},
		{"function as a result", "return { items: [1, { owner() {} }] }", "guest.result", "", "value.items[1].owner is a function", 0, 0, "call it"},
		{"promise in a result", "return { a: Promise.resolve(1) }", "guest.result", "", "value.a is a promise", 0, 0, "await it"},
		{"cycle in a result", "const o = { b: {} }; o.b.o = o; return o", "guest.result", "", "value.b.o closes a cycle", 0, 0, ""},
		{"NaN in a result", "return [[NaN]]", "guest.result", "", "value[0][0] is NaN", 0, 0, ""},
		{"odd key in a place", "return { 'a b': Symbol() }", "guest.result", "", `value["a b"] is a symbol`, 0, 0, ""},
		{"function as an argument", "await github.slow({ f() {} })", "tool.invalid_args", "ToolError", "args.f is a function", 1, 0, ""},
		{"caught and chained", "try { null.x } catch (e) {\n  throw new Error('outer', { cause: e })\n}", "guest.exception", "Error", "outer", 2, 18, ""},
		{"recursion", "function f() { return 1 + f() }\nf()", "guest.exception", "RangeError", "Maximum call stack size exceeded", 1, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := run(t, test.code, failing).fault(t)
			if e.Code != test.wantCode || e.Name != test.wantName || !strings.Contains(e.Message, test.part) {
				t.Errorf("got %s %s: %s", e.Code, e.Name, e.Message)
			}
			if e.Line != test.line || (test.column != 0 && e.Column != test.column) {
				t.Errorf("at %d:%d, want %d:%d", e.Line, e.Column, test.line, test.column)
			}
			if !strings.Contains(e.Hint, test.hint) {
				t.Errorf("hint %q, want one with %q", e.Hint, test.hint)
			}
			if strings.Contains(e.Stack, "wexec:") {
				t.Errorf("the stack shows the prelude:\n%s", e.Stack)
			}
			if e.Line > 0 {
				if line := strings.Split(test.code, "\n")[e.Line-1]; e.Text != line {
					t.Errorf("text %q, want %q", e.Text, line)
				}
			}
		})
	}
}

// TestValuesHaveTheFormsOfTheTable checks guests/values.md.
func TestValuesHaveTheFormsOfTheTable(t *testing.T) {
	tests := []struct{ code, want string }{
		{"undefined", ""},
		{"null", "null"},
		{"({ a: undefined, b: [undefined, , 1] })", `{"b":[null,null,1]}`},
		{"[10n, -9007199254740991n, 9007199254740992n, 2n ** 70n]", `[10,-9007199254740991,"9007199254740992","1180591620717411303424"]`},
		{"[new Date(0), { d: new Date(1e12) }]", `["1970-01-01T00:00:00.000Z",{"d":"2001-09-09T01:46:40.000Z"}]`},
		{"new Map([['a', 1], [2, { b: 3 }], [true, null], [null, 4], [5n, 6]])", `{"a":1,"2":{"b":3},"true":null,"null":4,"5":6}`},
		{"[new Set([1, 'x']), new Set()]", `[[1,"x"],[]]`},
		{"[new Uint8Array([1, 2, 255]), new ArrayBuffer(1), new DataView(new ArrayBuffer(2), 1)]", `[{"$bytes":"AQL/"},{"$bytes":"AA=="},{"$bytes":"AA=="}]`},
		{"[new Float64Array([1.5]), new Int16Array([-1]), new BigInt64Array(1)]", `[[1.5],[-1],[0]]`},
		{"new TypeError('bad', { cause: 1 })", `{"name":"TypeError","message":"bad","cause":1}`},
		{"Object.assign(new Error('e'), { code: 'X' })", `{"name":"Error","message":"e","code":"X"}`},
		{"[new Number(1), new String('s'), new Boolean(false), Object(2n)]", `[1,"s",false,2]`},
		{"[new URL('http://a/b'), new URLSearchParams('a=1')]", `["http://a/b","a=1"]`},
		{"new (class P { x = 1; #y = 2; get z() { return 3 } m() {} })()", `{"x":1}`},
		{"({ toJSON() { return { n: 1 } } })", `{"n":1}`},
		{"({ [Symbol('s')]: 1, get g() { return 2 } })", `{"g":2}`},
		{"['\\ud800', 'é😀', '\\u0000\"\\\\']", `["\ud800","é😀","\u0000\"\\"]`},
		{"[0.1, 1e21, -0, 1e-7, 5e-324, 9007199254740993]", `[0.1,1e+21,-0,1e-7,5e-324,9007199254740992]`},
		{"Object.create(null, { a: { value: 1, enumerable: true } })", `{"a":1}`},
		{"JSON.parse('{\"__proto__\":1,\"1\":2,\"0\":3}')", `{"0":3,"1":2,"__proto__":1}`},
		{"(function () { return arguments })(1, 'b')", `[1,"b"]`},
		{"const s = { a: 1 }; [s, s]", `[{"a":1},{"a":1}]`},
		{"'a' + 'b'.repeat(3) + 'c'", `"abbbc"`},
		{"let s = ''; for (let i = 0; i < 3000; i++) s += 'x' + i; ({ n: s.length, s: s.slice(0, 4) + s.at(-1) })", `{"n":13890,"s":"x0x19"}`},
	}
	for _, test := range tests {
		h := run(t, test.code)
		got := string(h.document)
		if (test.want == "") != (h.outcome == outcomeNothing) || (h.outcome != outcomeNothing && (h.outcome != outcomeValue || got != test.want)) {
			t.Errorf("%s\n got %s\nwant %s", test.code, got, test.want)
		}
	}
	errors := []struct{ code, part string }{
		{"return new Map([[{}, 1]])", "value is a Map with a key"},
		{"return ({ m: new Map([[1, 1], ['1', 2]]) })", "value.m is a Map with two keys"},
		{"return [new Date(NaN)]", "value[0] is an invalid Date"},
		{"return [/x/]", "value[0] is a RegExp"},
		{"return [[].values(), 1]", "value[0] is an iterator"},
		{"return new WeakMap()", "value is a weak"},
		{"return [-Infinity]", "value[0] is Infinity"},
		{"class A {}; return A", "value is a function"},
		{"let d = 1; for (let i = 0; i < 2000; i++) d = [d]; return d", "nested deeper than 900 levels"},
		{"return tools.github", "is a function"},
	}
	for _, test := range errors {
		e := run(t, test.code).fault(t)
		if e.Code != "guest.result" || !strings.Contains(e.Message, test.part) {
			t.Errorf("%s: %s %s, want guest.result with %q", test.code, e.Code, e.Message, test.part)
		}
	}
}

// TestALastStatementWithoutAFormIsNoValue: a program that ends in such a value
// does not fail, since nothing asked for the value. Standard error names a part
// of data that has no form.
func TestALastStatementWithoutAFormIsNoValue(t *testing.T) {
	for code, note := range map[string]string{
		"const api = {}\napi.get = () => 1": "",
		"class A {}; A":                     "",
		"0 / 0":                             "",
		"const m = new Map(); m.set({}, 1)": "",
		"Symbol('s')":                       "",
		"/x/":                               "",
		"[1].values()":                      "",
		"new WeakMap()":                     "",
		"new Blob(['x'])":                   "",
		"tools.github":                      "",
		"new Date(NaN)":                     "",
		"({ toJSON() { throw new Error('no') } })":                "",
		"export default class {}":                                 "",
		"export default class Named { constructor(x) { x.y.z } }": "",
		"export default NaN":                                      "",
		"if (false) return 1\nMath.max":                           "",
		"const log = { info() {}, level: 1 }; log":                "the program has no value: value.info is a function\n",
		"[1, 2].map(async (n) => n)":                              "the program has no value: value[0] is a promise\n",
		"setTimeout(() => console.error('late'), 2); Math.max":    "late\n",
		"let d = 1; for (let i = 0; i < 2000; i++) d = [d]; d":    "deeper than 900 levels",
	} {
		h := run(t, code)
		if h.outcome != outcomeNothing || !strings.Contains(h.stderr.String(), note) || (note == "" && h.stderr.Len() > 0) {
			t.Errorf("%s: outcome %d %s, standard error %q; want none with %q", code, h.outcome, h.document, &h.stderr, note)
		}
	}
	for _, code := range []string{"return Math.max", "if (true) return NaN\n1", "export default () => Math.max", "export default async function () { return [NaN] }"} {
		if e := run(t, code).fault(t); e.Code != "guest.result" {
			t.Errorf("%s: %s %s, want guest.result", code, e.Code, e.Message)
		}
	}
}

// TestValuesHaveTheSameEdgesInEveryDirection: numbers and depths, as in the test
// of the same name for Python.
func TestValuesHaveTheSameEdgesInEveryDirection(t *testing.T) {
	const numbers = `[0,-0,1e-7,0.000001,0.1,1.5,100,1e+21,123456789012345680000,1.2345e+22,1.7976931348623157e+308,5e-324]`
	echo := func(h *host) {
		h.handle = func(_ string, args []byte) answer { return answer{kind: answerJSON, data: args} }
	}
	if h := run(t, "return (await tools.a.echo({ v: ["+numbers[1:]+" })).v", echo); string(h.document) != numbers {
		t.Errorf("numbers: %d %s, want %s", h.outcome, h.document, numbers)
	}
	for depth, right := range map[int]bool{900: true, 901: false} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		h := run(t, "return tools.a.b()", func(h *host) {
			h.handle = func(string, []byte) answer { return answer{kind: answerJSON, data: []byte(deep)} }
		})
		if right {
			if string(h.document) != deep {
				t.Errorf("an answer of %d levels: %d %.80s", depth, h.outcome, h.document)
			}
		} else if e := h.fault(t); e.Code != "tool.failed" || e.Message != "the answer is nested more than 900 levels deep" {
			t.Errorf("an answer of %d levels: %+v", depth, e)
		}
		h = run(t, "await tools.a.echo(JSON.parse('"+deep[1:len(deep)-1]+"')); return true", echo)
		if right && string(h.document) != "true" {
			t.Errorf("arguments of %d levels: %d %.80s", depth, h.outcome, h.document)
		} else if !right && h.fault(t).Code != "tool.invalid_args" {
			t.Errorf("arguments of %d levels: %s", depth, h.document)
		}
	}
	for want, args := range map[string]any{"null": nil, "{}": "absent"} {
		h := run(t, "return args", func(h *host) {
			if h.input["args"] = args; args == "absent" {
				delete(h.input, "args")
			}
		})
		if string(h.document) != want {
			t.Errorf("args is %s, want %s", h.document, want)
		}
	}
}
