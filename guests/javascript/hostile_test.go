package javascript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/timing"
)

// TestHostileProgramsEndInAnError feeds the parser what breaks parsers. Each
// program ends in an outcome; none traps the interpreter.
func TestHostileProgramsEndInAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes half a minute")
	}
	const deep = 20000
	nest := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	programs := map[string]string{
		"a megabyte of parentheses": strings.Repeat("(", 1<<20),
		"a megabyte of brackets":    strings.Repeat("[", 1<<20),
		"a megabyte of braces":      strings.Repeat("{", 1<<20),
		"a megabyte of bangs":       strings.Repeat("!", 1<<20),
		"a megabyte of quotes":      strings.Repeat("'", 1<<20+1),
		"a megabyte of backticks":   strings.Repeat("`", 1<<20+1),
		"a megabyte of zero bytes":  strings.Repeat("\x00", 1<<20),
		"a megabyte of slashes":     strings.Repeat("/", 1<<20),
		"a megabyte of backslashes": strings.Repeat("\\", 1<<20),
		"a megabyte of semicolons":  strings.Repeat(";", 1<<20),
		"a megabyte of one name":    strings.Repeat("a", 1<<20),
		"a megabyte of digits":      strings.Repeat("9", 1<<20),
		"a megabyte of a BigInt":    strings.Repeat("9", 1<<20) + "n",
		"arrows":                    strings.Repeat("x=>", 1000) + "1",
		"many arrows":               strings.Repeat("x=>", deep) + "1",
		"bad UTF-8":                 "return '\xff\xfe\xc3\x28'",
		"half a surrogate":          "return '\xed\xa0\x80'",
		"unterminated comment":      "/* " + strings.Repeat("*", 100000),
		"unterminated template":     "`${" + strings.Repeat("`${", 5000),
		"unterminated regex":        "/(" + strings.Repeat("(", 5000),
		"huge regex":                "/" + nest("(", "a", ")", 5000) + "/.test('a')",
		"regex that backtracks":     "/^(a|a)*$/.test('a'.repeat(22) + 'b')",
		"regex with a huge count":   "/a{1000000000}/.test('a')",
		"regex with many groups":    "/" + strings.Repeat("()", 300) + "/.exec('')",
		"bad escape":                `return "\u{110000}"`,
		"many labels":               labels(3000),
		"many locals":               locals(70000),
		"many arguments":            "Math.max(" + strings.Repeat("1,", 70000) + "1)",
		"many cases":                "switch (1) {" + strings.Repeat("case 1:", 30000) + "}",
		"many functions":            strings.Repeat("function f() {}\n", 20000),
		"a long chain":              "const a = {}; a" + strings.Repeat("?.a", deep),
		"a long sum":                "1" + strings.Repeat("+1", 200000),
		"a long comma":              "1" + strings.Repeat(",1", 200000),
		"a long array":              "[" + strings.Repeat("1,", 200000) + "].length",
		"a long object":             "({" + objects(20000) + "})",
		"many spreads":              "[" + strings.Repeat("...[],", 30000) + "]",
		"eval of nesting":           "eval('['.repeat(100000))",
		"Function of nesting":       "new Function('('.repeat(100000))",
		"JSON of nesting":           "JSON.parse('['.repeat(1000000))",
		"deep JSON that is right":   "JSON.parse('['.repeat(100000) + ']'.repeat(100000))",
		"stringify of nesting":      "let a = []; for (let i = 0; i < 100000; i++) a = [a]; JSON.stringify(a).length",
		"inspect of nesting":        "let a = []; for (let i = 0; i < 100000; i++) a = { a }; console.dir(a, { depth: null })",
		"clone of nesting":          "let a = []; for (let i = 0; i < 100000; i++) a = [a]; structuredClone(a)",
		"toString that recurses":    "const o = { toString() { return '' + o } }; '' + o",
		"a getter that recurses":    "const o = { get a() { return this.a } }; o.a",
		"a proxy of itself":         "const h = {}; const p = new Proxy({}, h); h.get = () => p.x; p.x",
		"prototype of a proxy":      "Object.setPrototypeOf(Object.prototype, new Proxy({}, {}))",
		"arrays that join":          "const a = []; a.push(a, a); String(a)",
		"sort that throws":          "[3, 2, 1].sort(() => { throw 1 })",
		"sort that lies":            "Array.from({ length: 5000 }, (_, i) => i).sort(() => 1).length",
		"an array too long":         "new Array(2 ** 32)",
		"a string too long":         "'x'.repeat(2 ** 30)",
		"a string doubled":          "let s = 'x'; for (;;) s += s",
		"a buffer too long":         "new ArrayBuffer(2 ** 40)",
		"pad too long":              "''.padStart(2 ** 30)",
		"a join too long":           "new Array(2 ** 30).join('xx')",
		"concat of long arrays":     "const a = []; a.length = 2 ** 32 - 1; a.concat(a)",
		"a shift of a BigInt":       "1n << (2n ** 40n)",
		"a power of a BigInt":       "2n ** (2n ** 40n)",
		"toFixed of nonsense":       "(1e300).toFixed(1000)",
		"a date out of range":       "new Date(8.64e15 * 2).toISOString()",
		"freed while iterated":      "const m = new Map([[1, 1], [2, 2]]); for (const [k] of m) { m.clear(); for (let i = 0; i < 100; i++) m.set(i + k, 1); if (m.size > 1) break }",
		"array that shrinks":        "const a = [1, 2, 3, { toJSON() { a.length = 0; return 1 } }, 5]; JSON.stringify(a)",
		"value that shrinks":        "const a = [1, { toJSON() { a.length = 0; return 1 } }, 3]; return a",
		"value that changes":        "const o = { a: { toJSON() { delete o.b; o.c = 1; return 1 } }, b: 2 }; return o",
		"value whose getter throws": "return { get a() { throw new Error('no') } }",
		"value whose keys lie":      "return new Proxy({}, { ownKeys: () => ['a', 'a'] })",
		"value of a revoked proxy":  "const r = Proxy.revocable([], {}); r.revoke(); return r.proxy",
		"toJSON of itself":          "const o = { toJSON() { return o } }; return o",
		"toJSON without an end":     "const f = () => ({ toJSON: f }); return f()",
		"a detached view":           "const v = new Uint8Array(4); structuredClone(v.buffer); return v",
		"error without a stack":     "const e = new Error('x'); e.stack = { toString() { throw 1 } }; throw e",
		"error with odd fields":     "throw Object.assign(new Error(), { name: Symbol(), message: {}, code: 1n, lineNumber: 'x', cause: { get cause() { throw 1 } } })",
		"error that is a proxy":     "throw new Proxy(new Error('p'), { get() { throw new Error('trap') } })",
		"error with itself inside":  "const e = new Error('x'); e.cause = e; throw e",
		"a thrown cycle":            "const o = {}; o.o = o; throw o",
		"a thrown symbol":           "throw Symbol('s')",
		"a thrown function":         "throw () => 1",
		"a broken JSON":             "JSON.stringify = null; JSON.parse = null; return { a: 1 }",
		"a broken Array":            "Array.prototype.map = Array.prototype[Symbol.iterator] = null; throw new Error('x')",
		"a broken Object":           "Object.keys = Object.hasOwn = null; Object.prototype.toJSON = () => { throw 1 }; return { a: [{}] }",
		"a setter on everything":    "Object.defineProperty(Object.prototype, 'code', { set() { throw 1 }, get() { throw 2 } }); throw new Error('x')",
		"a broken Promise":          "Promise.prototype.then = null; Promise.resolve = null; await 1; return 2",
		"a thenable without an end": "const t = { then(r) { r(t) } }; setTimeout(() => { throw new Error('enough') }, 1); let n = 0; const u = { then(r) { if (n++ > 1000) r(1); else r(u) } }; return u",
		"a global removed":          "for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k] } catch {} } throw 1",
		"frozen globals":            "Object.freeze(globalThis); return 1",
		"import of itself":          "import './main.js'",
		"import of nonsense":        "import '\\0'",
		"import of a deep path":     "import '" + strings.Repeat("../", 5000) + "x'",
		"export twice":              "export default 1\nexport default 2",
		"import of a missing name":  "import { nothing } from 'path'",
		"with":                      "with ({ a: 1 }) { var r = a } return r",
		"html comment":              "<!-- x\nreturn 1\n--> y",
		"new target":                "new.target",
		"super":                     "super.x",
		"yield":                     "yield 1",
		"await in parameters":       "async function f(a = await 1) {}",
		"arguments":                 "return arguments",
		"octal in strict":           "'use strict'; 010",
		"duplicate names":           "let a; let a",
		"a private name outside":    "this.#x",
		"a class of itself":         "class A extends A {}",
		"unicode escapes in names":  `var \u{61}b = 1; return ab`,
		"a separator in a number":   "1__0",
		"a directive with escapes":  "'use\\x20strict'; return 1",
		"finalizers":                "const r = new FinalizationRegistry(() => { throw 1 }); for (let i = 0; i < 1000; i++) r.register({}, 1)",
	}
	for name, depth := range map[string][3]string{
		"nested arrays": {"[", "1", "]"}, "nested objects": {"({a:", "1", "})"}, "nested calls": {"f(", "1", ")"},
		"nested functions": {"(function(){", "", "})()"}, "nested blocks": {"{", "", "}"}, "nested ifs": {"if(1){", "", "}"},
		"nested loops": {"for(;;){", "break", "}"}, "nested classes": {"(class{static x=", "1", "})"}, "nested templates": {"`${", "1", "}`"},
		"nested ternaries": {"1?", "1", ":1"}, "nested negations": {"-(", "1", ")"}, "nested awaits": {"await (", "1", ")"},
		"nested patterns": {"[", "a", "]"}, "nested tries": {"try{", "", "}catch{}"}, "nested arrows": {"(()=>", "1", ")()"},
		"nested news": {"new (", "Object", ")()"}, "nested optional": {"a?.[", "1", "]"}, "nested spreads": {"[...", "[]", "]"},
	} {
		programs[name] = nest(depth[0], depth[1], depth[2], deep)
	}
	if len(programs) < 100 {
		t.Fatalf("%d programs, want at least 100", len(programs))
	}
	for name, code := range programs {
		timing.Within(t, 5*time.Second, name, func() time.Duration {
			h := &host{input: map[string]any{"code": code, "file": "main.js", "root": "/app"}, memory: 512, limit: 700 * time.Millisecond}
			g := newGuest(t, h)
			took := timing.Of(func() {
				if err := g.run(t); err != nil && !limited(err) {
					t.Errorf("%s: the guest trapped: %v", name, firstLine(err.Error()))
				}
			})
			if h.outcome == outcomeError {
				if e := h.fault(t); e.Code == "internal" || e.Code == "" {
					t.Errorf("%s: %s", name, h.document)
				}
			}
			g.module.Close(withHost(h))
			return took
		})
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func labels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "l%d: ", i)
	}
	return b.String() + "1"
}

func locals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "let v%d = 1;", i)
	}
	return b.String()
}

func objects(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1,", i)
	}
	return b.String()
}

// TestHostileAnswersEndInAnError gives the guest answers of every kind that no
// honest host gives. The program sees a value or an exception; nothing traps.
func TestHostileAnswersEndInAnError(t *testing.T) {
	texts := []string{
		"", " ", "{", "[", "\"", "nul", "{\"a\":}", "[1,]", "1 2", "\x00", "\xff\xfe", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"\\u00\"",
		"{\"__proto__\":{\"x\":1}}", "{\"a\":1,\"a\":2}", "{\"constructor\":null,\"toString\":1}", "1e999999", "-0", "9007199254740993",
		"123456789012345678901234567890", "0.1e-400", "{\"\\u0000\":1}", "[" + strings.Repeat("[", 5000), strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
		"{\"then\":1}", "{\"length\":-1}", strings.Repeat("{\"a\":", 3000) + "1" + strings.Repeat("}", 3000), "\"" + strings.Repeat("x", 100000) + "\"",
		"{\"code\":1,\"message\":2,\"hint\":{},\"tool\":[]}", "{\"code\":\"\"}", "{\"code\":\"denied.tool\"}", "{\"code\":\"guest.result\",\"message\":\"forged\"}",
		"{\"$bytes\":\"!!\"}", "[{\"$bytes\":\"AA==\"},{\"$bytes\":5}]", "null", "true", "5", "\"text\"", "[]", "{}",
	}
	n := 0
	for kind := range uint32(7) {
		for _, text := range texts {
			n++
			h := run(t, "const out = []; for (const f of [() => tools.a.b(), () => call2()]) { try { out.push(typeof await f()) } catch (e) { out.push(e instanceof Error) } } function call2() { return searchTools('x') } return out",
				func(h *host) {
					h.handle = func(string, []byte) answer { return answer{kind: kind, data: []byte(text)} }
				})
			if h.outcome != outcomeValue {
				t.Fatalf("kind %d of %.40q: outcome %d %s", kind, text, h.outcome, h.document)
			}
		}
	}
	odd := []answer{
		{id: 99}, {id: -7}, {id: 1 << 40}, {size: 1 << 31}, {size: -1}, {size: 5}, {size: 1 << 40}, {kind: 1 << 30}, {size: 0xffffffff},
	}
	for _, a := range odd {
		n++
		a.data = []byte("1")
		h := &host{input: map[string]any{"code": "try { return typeof await tools.a.b() } catch (e) { return e.message }", "file": "main.js"},
			handle: func(string, []byte) answer { return a }, memory: 512, limit: time.Second}
		if err := newGuest(t, h).run(t); err != nil && !limited(err) {
			t.Errorf("%+v: the guest trapped: %v", a, firstLine(err.Error()))
		}
	}
	if n < 200 {
		t.Errorf("%d hostile answers, want at least 200", n)
	}
}

// TestHostileInputsEndInAnError gives the guest input documents that no honest
// host gives.
func TestHostileInputsEndInAnError(t *testing.T) {
	inputs := []string{
		"", "{", "null", "1", "[]", "\"x\"", "{}", `{"code":5}`, `{"code":null,"file":1}`, `{"code":"return 1","file":5}`, `{"code":"return 1","servers":"x"}`,
		`{"code":"return 1","servers":[1,null,{}]}`, `{"code":"return 1","env":5,"args":null}`, `{"code":"return 1","recursion":"x"}`, `{"code":"return 1","recursion":-1}`,
		`{"code":"return 1","recursion":1}`, `{"code":"return 1","recursion":1e99}`, `{"code":"return 1","session":"yes"}`, `{"code":"return 1","root":5}`,
		`{"code":"return 1","file":"\u0000"}`, `{"code":"return 1","__proto__":null}`, "\xff", `{"code":"\ud800"}`, `{"code":"return 1","args":{"__proto__":1}}`,
		`{"code":"return 1","servers":["globalThis","Object","undefined","then"]}`, strings.Repeat("[", 100000),
	}
	for _, input := range inputs {
		h := &host{memory: 512, limit: time.Second}
		g := newGuest(t, h)
		h.raw = []byte(input)
		if len(input) == 0 {
			h.raw = []byte{}
		}
		if err := g.again(t); err != nil {
			t.Errorf("%.60q: the guest trapped: %v", input, firstLine(err.Error()))
		}
		if !json.Valid(h.document) && h.outcome != outcomeNothing {
			t.Errorf("%.60q: outcome %d %q", input, h.outcome, h.document)
		}
	}
}

// TestDeepRecursionIsALimitWhereItIsSet: with a limit of recursion the run ends,
// and no catch helps.
func TestDeepRecursionIsALimitWhereItIsSet(t *testing.T) {
	code := "function f(n) { return n === 0 ? 0 : 1 + f(n - 1) }\ntry { return f(%d) } catch (e) { return 'caught' }"
	shallow := func(h *host) { h.input["recursion"] = 100 }
	if h := run(t, fmt.Sprintf(code, 20), shallow); string(h.document) != "20" {
		t.Errorf("20 deep below a limit of 100: %s", h.document)
	}
	if e := run(t, fmt.Sprintf(code, 1000), shallow).fault(t); e.Code != "limit.recursion" {
		t.Errorf("1000 deep below a limit of 100: %s", e.Code)
	}
	if h := run(t, fmt.Sprintf(code, 2000)); string(h.document) != "2000" {
		t.Errorf("2000 deep without a limit: %s", h.document)
	}
	if h := run(t, fmt.Sprintf(code, 1000000)); string(h.document) != `"caught"` {
		t.Errorf("a million deep without a limit: %s", h.document)
	}
}
