package javascript_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestTheLanguageOfLaterYears runs what is newer than the Node installed, which
// cannot be compared: the values are those of the specifications.
func TestTheLanguageOfLaterYears(t *testing.T) {
	for code, want := range map[string]string{
		"[Math.sumPrecise([0.1, 0.2, 0.3]), Math.sumPrecise([1e20, 0.1, -1e20]), Math.sumPrecise(Array(10).fill(0.1))]":                            `[0.6,0.1,1]`,
		"[Math.sumPrecise([1e308, 1e308, -1e308]), Object.is(Math.sumPrecise([]), -0), Math.sumPrecise([1, 2 ** -53, 2 ** -53])]":                  `[1e308,true,1.0000000000000002]`,
		"[Error.isError(new TypeError('x')), Error.isError({ name: 'Error' })]":                                                                    `[true,false]`,
		"[new Uint8Array([1, 255]).toHex(), Uint8Array.fromHex('ff00').length, Uint8Array.fromBase64('aGk=').toBase64()]":                          `["01ff",2,"aGk="]`,
		"[Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even')), [...Map.groupBy([1, 2], (n) => n > 1).keys()]]":                              `[{"odd":[1,3],"even":[2]},[false,true]]`,
		"[[...new Set([1, 2]).union(new Set([3]))], [...new Set([1, 2]).intersection(new Set([2]))], new Set([1]).isSubsetOf(new Set([1, 2]))]":    `[[1,2,3],[2],true]`,
		"Iterator.from([1, 2, 3, 4]).filter((n) => n % 2).map((n) => n * 10).take(2).toArray()":                                                    `[10,30]`,
		"[await Array.fromAsync([1, Promise.resolve(2)]), await Promise.try(() => 5), RegExp.escape('a.b')]":                                       `[[1,2],5,"\\x61\\.b"]`,
		"const { promise, resolve } = Promise.withResolvers(); setTimeout(resolve, 1, 'later'); return promise":                                    `"later"`,
		"[new TextDecoder().decode(await new Blob(['a', 'é']).bytes()), new File(['x'], 'n.txt', { type: 'text/plain' }).name]":                    `["aé","n.txt"]`,
		"try { return JSON.stringify(new Blob(['x'])) } catch (e) { return e.message }":                                                            `"a Blob has no JSON form"`,
		"const { hash } = await import('node:crypto'); return hash('sha512', 'abc').slice(0, 16)":                                                  `"ddaf35a193617aba"`,
		"const { crc32 } = await import('node:zlib'); return crc32('hello')":                                                                       `907060870`,
		"const form = new FormData(); form.append('a', '1'); form.append('a', '2'); return [form.getAll('a'), form]":                               `[["1","2"],{"a":"2"}]`,
		"[Intl.NumberFormat.supportedLocalesOf('de').length, new Intl.NumberFormat('de-DE').resolvedOptions().locale, (1.5).toLocaleString('de')]": `[1,"de-DE","1,5"]`,
	} {
		h := run(t, code)
		if got := string(h.document); h.outcome != outcomeValue || !sameJSON(got, want) {
			t.Errorf("%s\n got %s\nwant %s", code, got, want)
		}
	}
}

// TestWhatTheInterpreterLacksIsAsTheStandardSays: the edges of what the prelude
// adds to the language.
func TestWhatTheInterpreterLacksIsAsTheStandardSays(t *testing.T) {
	const helpers = `const throws = (type, fn) => { try { fn() } catch (e) { return e instanceof type } return 'no error' }
let closed = 0
const source = () => ({ __proto__: Iterator.prototype, n: 0, next() { return { done: this.n >= 3, value: this.n++ } }, return() { closed++; return {} } });
`
	for code, want := range map[string]string{
		"[RegExp.escape('\u3000'), RegExp.escape('\\n-\\ud800'), throws(TypeError, () => RegExp.escape(1))]":                                                                   `["\\u3000","\\n\\x2d\\ud800",true]`,
		"[[...new Set([1, 2, 3]).intersection(new Set([3, 2]))], throws(TypeError, () => new Set().union([1])), throws(RangeError, () => new Set().union({ size: -1 }))]":      `[[3,2],true,true]`,
		"throws(TypeError, () => new Set().isSubsetOf({ size: 0, has: 1, keys() {} }))":                                                                                        `true`,
		"new Set([1, 2, 3]).isSupersetOf({ size: 1, has() {}, keys: () => source() }); return closed":                                                                          `1`,
		"[throws(TypeError, () => source().flatMap(() => 'text').next()), closed]":                                                                                             `[true,1]`,
		"[throws(TypeError, () => source().map()), closed, throws(RangeError, () => source().take(NaN)), closed]":                                                              `[true,1,true,2]`,
		"const it = source().map((x) => x); it.return(); return [closed, it.next()]":                                                                                           `[1,{"done":true}]`,
		"[source().take(1).toArray(), closed, source().drop(1).toArray(), source().some((x) => x === 0), closed]":                                                              `[[0],1,[1,2],true,2]`,
		"const it = source().map((x) => x); return [Object.prototype.toString.call(it), it instanceof Iterator, throws(TypeError, () => it.next.call({}))]":                    `["[object Iterator Helper]",true,true]`,
		"[Iterator.from({ next: () => ({ done: true }) }).toArray(), throws(TypeError, () => Iterator()), throws(TypeError, () => Iterator.from(1))]":                          `[[],true,true]`,
		"class List { constructor() { this.made = true } }; const l = await Array.fromAsync.call(List, [1]); return [l.made, l.length, l[0]]":                                  `[true,1,1]`,
		"[throws(SyntaxError, () => Uint8Array.fromBase64('QQ=')), throws(TypeError, () => Uint8Array.prototype.toHex.call([])), Uint8Array.fromBase64('QQ').length]":          `[true,true,1]`,
		"[throws(SyntaxError, () => Uint8Array.fromBase64('QR==', { lastChunkHandling: 'strict' })), new Uint8Array(2).setFromBase64('QUJD')]":                                 `[true,{"read":0,"written":0}]`,
		"const b = new Uint8Array([1, 2, 3]).buffer, c = b.transfer(2); return [b.detached, b.byteLength, new Uint8Array(c).length, throws(TypeError, () => b.transfer())]":    `[true,0,2,true]`,
		"const a = new Int32Array(2); Atomics.add(a, 0, 5); return [Atomics.load(a, 0), Atomics.compareExchange(a, 0, 5, 7), a[0], Atomics.isLockFree(4)]":                     `[5,5,7,true]`,
		"['\u212b'.localeCompare('A\u030a'), 'o\u0308'.localeCompare('\u00f6'), ''.localeCompare.length, (1).toLocaleString.length, new Date().toLocaleString.length]":         `[0,0,1,0,0]`,
		"[throws(TypeError, () => ''.localeCompare.call(null, '')), throws(TypeError, () => (1).toLocaleString.call('1')), throws(TypeError, () => new ''.localeCompare(''))]": `[true,true,true]`,
		"[Array.fromAsync, setTimeout, fetch, Iterator.prototype.map].every((f) => /^function \\w+\\(\\) \\{\\s*\\[native code\\]\\s*\\}$/.test(f.toString()))":                `true`,
		"import.meta.url": `"file:///tmp/main.js"`,
		"Array.prototype[Symbol.iterator]().__proto__.next = null; return [await Array.fromAsync({ length: 1, 0: 5 })][0][0]": `5`,
	} {
		h := run(t, helpers+code)
		if got := string(h.document); h.outcome != outcomeValue || !sameJSON(got, want) {
			t.Errorf("%s\n got %s\nwant %s", code, got, want)
		}
	}
}

// TestWebClassesFollowTheirStandards: cases of the web-platform-tests.
func TestWebClassesFollowTheirStandards(t *testing.T) {
	const helpers = "const throws = (type, fn) => { try { fn() } catch (e) { return e instanceof type } return 'no error' };\n"
	for code, want := range map[string]string{
		"const d = new TextDecoder('utf-16le'); return d.decode(new Uint8Array([0x3d]), { stream: true }) + d.decode(new Uint8Array([0xd8, 0, 0xde]))":                                                                                                                `"😀"`,
		"throws(TypeError, () => new TextDecoder('utf-16le', { fatal: true }).decode(new Uint8Array([0x61])))":                                                                                                                                                        `true`,
		"[new TextDecoder('utf-16be').decode(new Uint8Array([0, 0x61])), new TextDecoder('koi8-r').decode(new Uint8Array([0xd0])), new TextDecoder('latin2').encoding]":                                                                                               `["a","п","iso-8859-2"]`,
		"[throws(RangeError, () => new TextDecoder('gbk')), throws(RangeError, () => new TextDecoder('none'))]":                                                                                                                                                       `[true,true]`,
		"const f = structuredClone(new File(['ab'], 'n', { type: 'a/b' })); return [f instanceof File, f.name, f.type, await f.text()]":                                                                                                                               `[true,"n","a/b","ab"]`,
		"const b = new ArrayBuffer(4), c = structuredClone({ b }, { transfer: [b] }); return [b.byteLength, c.b.byteLength, throws(DOMException, () => structuredClone(b))]":                                                                                          `[0,4,true]`,
		"const e = structuredClone(new DOMException('m', 'DataCloneError')); return [e instanceof DOMException, e.name, e.code, DOMException.DATA_CLONE_ERR]":                                                                                                         `[true,"DataCloneError",25,25]`,
		"const e = new Event('x', { bubbles: true, cancelable: true }); e.preventDefault(); return [e.bubbles, e.composed, e.eventPhase, e.returnValue, e.isTrusted, Event.AT_TARGET]":                                                                                `[true,false,0,false,false,2]`,
		"const t = new EventTarget(), e = new Event('x', { cancelable: true }); t.addEventListener('x', (e) => e.preventDefault(), { passive: true }); return [t.dispatchEvent(e), e.target === t, e.currentTarget]":                                                  `[true,true,null]`,
		"const form = new FormData(); form.append('a', 'é'); form.append('f', new File(['x'], 'q\"', { type: 'a/b' })); const back = await new Response(form).formData(); return [back.get('a'), back.get('f').name, back.get('f').type, await back.get('f').text()]": `["é","q\"","a/b","x"]`,
		"[...(await new Response(new URLSearchParams('a=1&b=2')).formData()).keys()]":                                                                                                                                                                                 `["a","b"]`,
		"await new Response('x').formData().catch((e) => e instanceof TypeError)":                                                                                                                                                                                     `true`,
		"const r = Response.redirect('http://a.test/b', 307); return [r.status, r.headers.get('location'), throws(RangeError, () => Response.redirect('http://a.test', 200))]":                                                                                        `[307,"http://a.test/b",true]`,
		"[throws(TypeError, () => new Headers([['a', 'b', 'c']])), throws(TypeError, () => new Headers(['ab', 'c'])), new Headers([new Set(['a', 'b'])]).get('a')]":                                                                                                   `[true,true,"b"]`,
		"[new URL('C|/x', 'file:///d/e').href, new URL('/', 'file:///C:/a').href, URL.canParse('http://1.2.3.08'), URL.canParse('http://xn--/'), new URL('http://a/??b=c').searchParams.toString()]":                                                                  `["file:///C:/x","file:///C:/",false,false,"%3Fb=c"]`,
		"const u = new URL('http://a.test/p'); u.hostname = 'b:1'; u.protocol = 'ht\\ntps'; u.host = 'c.test:65536'; return u.href":                                                                                                                                   `"https://c.test/p"`,
		"const a = new AbortController(), order = []; const s = AbortSignal.any([a.signal]); s.onabort = () => order.push(2); a.signal.onabort = () => order.push(1, s.aborted); a.abort(null); return [order, a.signal.reason, s.reason]":                            `[[1,true,2],null,null]`,
		"[throws(TypeError, () => new Blob('x')), throws(TypeError, () => new File(['x'])), new Blob(['a\\r\\nb'], { endings: 'native', type: 'é' }).size]":                                                                                                           `[true,true,3]`,
	} {
		h := run(t, helpers+code)
		if got := string(h.document); h.outcome != outcomeValue || !sameJSON(got, want) {
			t.Errorf("%s\n got %s\nwant %s", code, got, want)
		}
	}
}

// TestFormsAreSentInParts reads the body that fetch sends for a FormData.
func TestFormsAreSentInParts(t *testing.T) {
	var sent struct {
		Body    string
		Headers [][2]string
	}
	run(t, `const form = new FormData()
form.append('note', 'two\nlines')
form.append('file', new Blob([new Uint8Array([1, 2])], { type: 'image/png' }), 'a"b.png')
await fetch('https://x.test/', { method: 'POST', body: form }).catch(() => {})`, func(h *host) {
		h.handle = func(name string, args []byte) answer {
			if name == "wexec:fetch" {
				if err := json.Unmarshal(args, &sent); err != nil {
					t.Error(err)
				}
			}
			return answer{kind: answerError, data: []byte(`{"code":"upstream.unavailable","message":"no"}`)}
		}
	})
	body, err := base64.StdEncoding.DecodeString(sent.Body)
	if err != nil {
		t.Fatal(err)
	}
	var boundary string
	for _, h := range sent.Headers {
		if _, after, ok := strings.Cut(h[1], "multipart/form-data; boundary="); ok {
			boundary = after
		}
	}
	want := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\ntwo\nlines\r\n" +
		"--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b.png\"\r\nContent-Type: image/png\r\n\r\n\x01\x02\r\n" +
		"--" + boundary + "--\r\n"
	if boundary == "" || string(body) != want {
		t.Errorf("sent %q with the boundary %q\nwant %q", body, boundary, want)
	}
}
