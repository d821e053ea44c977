package python_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzJSON holds the fast reader and writer of JSON against the library's own,
// which are still there.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":[2]}`, `[1e400,-0,0.1,1E+2]`, `"\ud83d\ude00\ud800"`, `[[],{},[{}]]`, ` [ 1 , 2 ] `, `{"a":}`, `[1,]`, `nul`, `NaN`, `-Infinity`,
		`"` + strings.Repeat(`\\`, 40) + `"`, strings.Repeat("[", 300), `{"id":1,"n":"x"},{"id":2,"n":"y"}`, `[{"id":1,"n":"x"},{"id":2,"n":"y"},{"n":1,"id":2}]`, "\"\x00\"", "\ufeff[]"} {
		f.Add(s)
	}
	run(f, "1") // compiled before the clock of a single input runs
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return // it cannot reach the guest as a text
		}
		h := run(t, `
import json
def came(f):
    try:
        v = f()
        return [repr(v), [repr(json.dumps(v)), repr(json.JSONEncoder().encode(v))]]
    except RecursionError:
        return ["too deep", ["", ""]]
    except Exception as e:
        return [type(e).__name__ + str(e), ["", ""]]
fast, own, raw = came(lambda: json.loads(args)), came(lambda: json.JSONDecoder().decode(args)), came(lambda: json.loads(args.encode()))
if args.startswith("\ufeff"):
    fast = own = raw  # each says in its own words that it takes no mark
return [fast == own, raw[0] == own[0] or "ecode" in raw[0] + own[0], fast[1][0] == fast[1][1]]`, func(h *host) { h.input["args"] = text })
		if got := h.value(t); got != "[true,true,true]" && got != "[true, true, true]" {
			t.Errorf("%q: %s", text, got)
		}
	})
}
