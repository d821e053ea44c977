package javascript_test

import (
	"fmt"
	"strings"
	"testing"
)

// listing is a host with one server, shop, that has these tools; other calls
// are answered with their name and arguments.
func listing(tools ...string) func(*host) {
	return func(h *host) {
		h.input["servers"] = []string{"shop"}
		h.handle = func(name string, args []byte) answer {
			if name == "wexec:names" {
				return jsonAnswer(tools)
			}
			return jsonAnswer(name + string(args))
		}
	}
}

// TestAToolStaysWhatItWasReadAs: a server knows its tools after they were read
// once, and nothing a program does to it changes what it knows.
func TestAToolStaysWhatItWasReadAs(t *testing.T) {
	tests := map[string]string{
		"it is one function":           "return tools.shop.list === shop.list && shop.list === shop['list']",
		"nobody assigns it":            "shop.list; try { shop.list = 1; return false } catch (e) { return e instanceof TypeError && typeof shop.list === 'function' }",
		"nobody assigns a new one":     "try { shop.other = 1; return false } catch (e) { return e instanceof TypeError && typeof shop.other === 'function' }",
		"nobody deletes it":            "const f = shop.list; try { delete shop.list; return false } catch (e) { return shop.list === f }",
		"nobody defines it":            "const f = shop.list; try { Object.defineProperty(shop, 'list', { value: 1 }); return false } catch (e) { return shop.list === f }",
		"nobody assigns the server":    "tools.shop; try { tools.shop = 1; return false } catch { return typeof tools.shop.list === 'function' }",
		"reading lists nothing":        "shop.other; shop.typo; return JSON.stringify([Object.keys(shop), Object.keys(tools)]) === '[[\"list\",\"get\"],[\"shop\"]]'",
		"what is known is not there":   "shop.typo; return !('typo' in shop) && 'list' in shop && !Object.hasOwn(shop, 'typo')",
		"it can be taken apart":        "shop.typo; return Object.entries(shop).map(([k, f]) => k + ' ' + f.name).join() === 'list shop.list,get shop.get'",
		"for in sees the tools":        "shop.typo; const all = []; for (const k in shop) all.push(k); return all.join() === 'list,get'",
		"symbols are no tools":         "shop.list; return shop[Symbol.iterator] === undefined && shop[Symbol('list')] === undefined",
		"numbers are names":            "return shop[0] === shop['0'] && shop[0].name === 'shop.0'",
		"an heir reads it":             "shop.list; return Object.create(shop).list === shop.list",
		"Reflect reads it":             "shop.list; return Reflect.get(shop, 'list', {}) === shop.list",
		"it makes no objects":          "try { new shop.list() } catch (e) { return e instanceof TypeError }",
		"it looks like a function":     "const f = shop.list; return [typeof f, f.name, f.length, String(f), 'prototype' in f, Object.keys(f).length].join() === 'function,shop.list,0,tool shop.list,false,0'",
		"it is not renamed for others": "shop.list.name = 'shop.rm'; return shop.list.name === 'shop.rm' && (await shop.list()) === 'shop.list{}'",
		"an object of a class":         "return (await shop.list(new Map([['a', 1]]))) === 'shop.list{\"a\":1}' && (await shop.list(new (class { b = 2 })())) === 'shop.list{\"b\":2}'",
		"a value of a class":           "return (await shop.list(new Date(0))) === 'shop.list[\"1970-01-01T00:00:00.000Z\"]' && (await shop.list(new Set([1]))) === 'shop.list[[1]]'",
		"a proxy is an object":         "return (await shop.list(new Proxy({ a: 1 }, {}))) === 'shop.list{\"a\":1}'",
		"what is missing at the end":   "return (await shop.list(1, undefined)) === 'shop.list[1]' && (await shop.list({ a: 1 }, undefined)) === 'shop.list{\"a\":1}'",
	}
	for name, code := range tests {
		if h := run(t, "'use strict'; "+code, listing("list", "get")); string(h.document) != "true" {
			t.Errorf("%s: %s gave %d %s", name, code, h.outcome, h.document)
		}
	}
}

// TestCallsDoNotGoThroughWhatProgramsReplace: a program that puts its own
// functions in the place of the language's gets the same calls and answers.
func TestCallsDoNotGoThroughWhatProgramsReplace(t *testing.T) {
	replaced := []string{
		"globalThis.Promise = class {}", "globalThis.Proxy = null", "globalThis.Reflect = null",
		"Promise.resolve = () => { throw 1 }", "Promise.prototype.then = () => { throw 1 }",
		"Object.defineProperty(Promise, Symbol.species, { get() { throw 1 } })",
		"Object.defineProperty(Object.prototype, 'get', { get() { throw 1 }, set() { throw 1 }, configurable: true })",
		"Object.prototype.list = () => 'stolen'", "Object.prototype.known = { list: () => 'stolen' }",
		"Function.prototype.list = () => 'stolen'",
		"Array.prototype.push = Array.prototype.slice = Array.prototype[Symbol.iterator] = () => { throw 1 }",
		"Object.create = Object.getPrototypeOf = Object.hasOwn = () => { throw 1 }",
		"Set.prototype.has = Map.prototype.get = () => { throw 1 }",
		"Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 1 }",
		"JSON.stringify = JSON.parse = () => { throw 1 }",
		"Object.setPrototypeOf(Object.getPrototypeOf(async () => {}), null)",
	}
	for _, before := range replaced {
		h := run(t, before+"; const one = await tools.shop.list({ a: 1 }); return [one, await tools.shop.list({ a: 1 })]", listing("list"))
		if want := `["shop.list{\"a\":1}","shop.list{\"a\":1}"]`; string(h.document) != want || len(h.started) != 2 {
			t.Errorf("%s: %d %s, calls %q", before, h.outcome, h.document, h.started)
		}
	}
	// what the language lets a program do to promises goes on to work
	for code, want := range map[string]string{
		"Object.prototype.then = function (done) { delete Object.prototype.then; done(this.a + 1) }; return shop.list({})":   "3",
		"Promise.prototype.constructor = undefined; const p = shop.list({}); return (await p).a":                             "2",
		"const p = shop.list({}); p.then = (done) => done('own'); p.constructor = Object; return await p":                    `"own"`,
		"const p = shop.list({}); p.then = (done) => done('own'); return (await p).a":                                        "2",
		"class P extends Promise {}; return (await P.resolve(shop.list({}))).a + (P.resolve(1).then(() => {}) instanceof P)": "3",
	} {
		h := run(t, code, func(h *host) {
			h.input["servers"] = []string{"shop"}
			h.handle = func(string, []byte) answer { return jsonAnswer(map[string]int{"a": 2}) }
		})
		if string(h.document) != want {
			t.Errorf("%s: %d %s, want %s", code, h.outcome, h.document, want)
		}
	}
}

// TestAFailedCallIsPlacedWhereItWasMade, also where it is awaited elsewhere or
// what the arguments do fails.
func TestAFailedCallIsPlacedWhereItWasMade(t *testing.T) {
	for code, want := range map[string]string{
		"const f = async () => {\n  await shop.list({})\n}\nawait f()":                                           "ToolError: no\n    at f (main.js:2:18)",
		"const p = shop.list({})\nawait null\nawait p":                                                           "ToolError: no\n    at <anonymous> (main.js:1:20)",
		"await shop.list({ toJSON() {\n throw new Error('mine') } })":                                            "Error: mine\n    at toJSON (main.js:2:17)\n    at <anonymous> (main.js:1:16)",
		"await shop.list({ f() {} })":                                                                            "ToolError: args.f is a function\n    at <anonymous> (main.js:1:16)",
		"const all = [1]\nawait Promise.all(all.map((i) => shop.list({ i })))":                                   "ToolError: no\n    at <anonymous> (main.js:2:43)\n    at map (native)",
		"const one = async (i) => shop.list({ i })\ntry { await one(1) } catch (e) { throw new Error(e.stack) }": "Error: ToolError: no\n    at one (main.js:1:35)",
	} {
		h := run(t, code, func(h *host) {
			h.input["servers"] = []string{"shop"}
			h.handle = func(string, []byte) answer {
				return answer{kind: answerError, data: []byte(`{"code":"tool.failed","message":"no","tool":"shop.list"}`)}
			}
		})
		if e := h.fault(t); !strings.HasPrefix(e.Stack, want[:strings.LastIndex(want, "\n")]) {
			t.Errorf("%s:\n%s\nwant\n%s", code, e.Stack, want)
		}
	}
}

// TestWhatWaitsForeverIsCollected: functions that await what never comes, in
// circles with what they wait for, take no memory once unreferenced, and
// those that somebody holds go on.
func TestWhatWaitsForeverIsCollected(t *testing.T) {
	const circle = `const never = async (i) => {
  let done
  const p = new Promise((resolve) => { done = resolve }), big = new Array(1000).fill(i)
  const me = { p, done, big }
  p.me = me
  await p
  return me
}
`
	h := run(t, circle+"for (let i = 0; i < 6000; i++) never(i); return 'there'", func(h *host) { h.memory = 400 })
	if string(h.document) != `"there"` {
		t.Errorf("6,000 circles of 8 KB in 25 MB: %d %s", h.outcome, h.document)
	}
	h = run(t, circle+`const kept = []
const keep = async (i) => { const big = new Array(500).fill(i); await new Promise((resolve) => kept.push(resolve)); return big[499] }
const all = []
for (let i = 0; i < 500; i++) { all.push(keep(i)); for (let k = 0; k < 10; k++) never(k) }
kept.reverse().forEach((resolve) => resolve())
return (await Promise.all(all)).reduce((a, b) => a + b)`, func(h *host) { h.memory = 400 })
	if want := fmt.Sprint(500 * 499 / 2); string(h.document) != want {
		t.Errorf("what is held went on to %d %s, want %s", h.outcome, h.document, want)
	}
	h = run(t, "const never = new Promise(() => {})\nlet x = 1\nawait never")
	if e := h.fault(t); e.Code != "guest.stalled" || e.Line != 3 {
		t.Errorf("a program that waits for nothing: %+v", e)
	}
}
