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
