package python_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// The program compares the fast functions with the library's own classes, which
// still are what they were, over documents it makes up.
const compareJSON = `
import json, random
r = random.Random(args["seed"])
decode = json.JSONDecoder().decode
words = ["id", "name", "a", "", "é", "__proto__", "x" * 30, "tags", "😀", "\ud800", "\x00", 'q"\\/\n\t\x7f']

def text():
    return r.choice(words) if r.random() < .7 else "".join(r.choice("ab\"\\\n é😀\ud83d\ude00\x1f\x7f") for _ in range(r.randrange(40)))

def number():
    return r.choice([0, -1, 1.5, -0.0, 1e308, 5e-324, 2**53, 2**53 + 1, -2**63, 10**25, 123456789012345678, 0.1, 1e22, 1e23, 3.0,
                     r.random(), r.randrange(-10**9, 10**9), r.uniform(-1e10, 1e10)])

def value(depth):
    k = r.random()
    if depth > 5 or k < .4:
        return r.choice([None, True, False, text(), text(), number(), number()])
    if k < .7:
        return [value(depth + 1) for _ in range(r.randrange(6))]
    return {text(): value(depth + 1) for _ in range(r.randrange(8))}

def both(f, g):
    out = []
    for h in (f, g):
        try:
            v = h()
            out.append(repr(v))
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out

def spoil(s):
    if not s or r.random() < .6:
        return s
    i = r.randrange(len(s))
    return r.choice([s[:i], s[:i] + r.choice('{}[]",:\\0123456789eE+-. \ntfnNI\x00é') + s[i + 1:], s[i:], s + r.choice(' ]}"x'), s[:i] + s[i:] * 2,
                     s.replace("1", "01"), s.replace(",", ",,", 1), s.replace("e", "E"), s.replace('"', "'", 2)])

differences = []
for n in range(args["count"]):
    v = value(0)
    if r.random() < .2:
        v = [dict(zip(["id", "name", "tags", "a"], [i, text(), value(4), number()])) for i in range(r.randrange(30))]
    kw = r.choice([{}, {}, {"indent": r.randrange(5)}, {"ensure_ascii": False}, {"indent": 2, "ensure_ascii": False},
                   {"separators": (",", ":")}, {"sort_keys": True}, {"default": str}])
    a, b = both(lambda: json.dumps(v, **kw), lambda: json.JSONEncoder(**kw).encode(v))
    if a != b:
        differences.append(["dumps", kw and str(kw), a, b])
    s = spoil(json.dumps(v, **kw))
    a, b = both(lambda: json.loads(s), lambda: decode(s))
    if a != b:
        differences.append(["loads", s, a, b])
    if "\ud800" not in s:
        raw = s.encode("utf-8", "surrogatepass")
        a, b = both(lambda: json.loads(raw), lambda: decode(s))
        if a != b:
            differences.append(["loads of bytes", s, a, b])
    if len(differences) > 3:
        break
return [[str(x)[:300] for x in d] for d in differences]
`

func TestFastJSONAgreesWithTheLibrary(t *testing.T) {
	count, seeds := 800, 2
	if testing.Short() {
		count, seeds = 200, 1
	}
	for seed := range seeds {
		h := run(t, compareJSON, func(h *host) {
			h.input["args"] = map[string]any{"seed": seed, "count": count}
		})
		if got := h.value(t); got != "[]" {
			t.Errorf("seed %d: differences: %s", seed, got)
		}
	}
}

func TestJSONFunctionsKeepTheirEdges(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"json.loads('[NaN, Infinity, -Infinity]')[1] == float('inf')", "true"},
		{"json.loads('{\"a\": 1, \"b\": 2, \"a\": 3}')", `{"a":3,"b":2}`},
		{"json.loads('{\"__proto__\": {\"x\": 1}}')", `{"__proto__":{"x":1}}`},
		{"json.loads('1', parse_int=float) == 1.0 and json.loads('[1.5]', parse_float=str)[0]", `"1.5"`},
		{"json.loads('{\"a\": 1}', object_pairs_hook=list)", `[["a",1]]`},
		{"import io\njson.load(io.StringIO('[1]')), json.load(io.BytesIO(b'[2]'))", `[[1],[2]]`},
		{"import io\nf = io.StringIO()\njson.dump({'a': [1, 'é']}, f)\nf.getvalue()", `"{\"a\": [1, \"\\u00e9\"]}"`},
		{"json.loads('[1]'.encode('utf-16')), json.loads(b'\\xef\\xbb\\xbf[1]')", `[[1],[1]]`},
		{"json.loads(bytearray(b'[1]'))", `[1]`},
		{"json.dumps({1: 2, None: 3, True: 4, 1.5: 5})", `"{\"1\": 4, \"null\": 3, \"1.5\": 5}"`},
		{"json.dumps(float('nan')), json.dumps((1, 2)), json.dumps(10**30)", `["NaN","[1, 2]","1000000000000000000000000000000"]`},
		{"class S(str): pass\njson.dumps([S('x')])", `"[\"x\"]"`},
		{"import datetime\njson.dumps({'d': datetime.date(2026, 1, 2)}, default=str)", `"{\"d\": \"2026-01-02\"}"`},
		{"json.dumps([], indent=2), json.dumps({}, indent=2), json.dumps([1, {'a': []}], indent=2)", `["[]","{}","[\n  1,\n  {\n    \"a\": []\n  }\n]"]`},
		{"a = json.loads('[' * 1000 + ']' * 1000)\nn = 0\nwhile a:\n    a = a[0]\n    n += 1\nn", "999"},
		{"try:\n    json.loads('[' * 10000 + ']' * 10000)\nexcept RecursionError:\n    return 'deep'", `"deep"`},
		{"try:\n    json.loads('[1,]')\nexcept json.JSONDecodeError as e:\n    return [e.msg, e.pos, e.lineno, e.colno]", `["Illegal trailing comma before end of array",2,1,3]`},
		{"a = []\na.append(a)\ntry:\n    json.dumps(a)\nexcept ValueError as e:\n    return str(e)", `"Circular reference detected"`},
		{"a = [0] * 100000\na.append(a)\ntry:\n    json.dumps(a)\nexcept ValueError as e:\n    return str(e)", `"Circular reference detected"`},
		{"try:\n    json.dumps({1j})\nexcept TypeError as e:\n    return str(e)", `"Object of type set is not JSON serializable"`},
		{"class D(dict):\n    def items(self):\n        return [('x', 1)]\njson.dumps(D(a=2))", `"{\"x\": 1}"`},
		{"len(json.dumps('a' * 1000000)), len(json.loads('\"' + 'a' * 1000000 + '\"'))", `[1000002,1000000]`},
		{"json.loads('1' * 400) == int('1' * 400)", "true"},
		{"try:\n    json.loads('1' * 5000)\nexcept ValueError as e:\n    return 'limit' in str(e)", "true"},
	} {
		if got := run(t, "import json\n"+c.code).value(t); got != c.want {
			t.Errorf("%s\ngave %s, want %s", c.code, got, c.want)
		}
	}
}

// Documents that a server may send, and what the program then holds, against
// this language's own reader.
func TestAnswersAreReadAsOthersReadThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	documents := []string{
		`{"a":1,"a":2}`, `{"__proto__":1,"constructor":{}}`, `"\ud83d\ude00"`, `"\u0000\u001f"`, `[1e400]`, `[-0]`, `[1e-400]`, `[0.1,1E5,1e+5]`,
		`[9007199254740991,-9007199254740991]`, ` [ 1 , 2 ] `, "\t\n\r{}", `""`, `0`, `null`, `[[],{},[[]]]`, `{"":{"":""}}`,
		"\"é\u2028😀\"", strings.Repeat("[", 800) + strings.Repeat("]", 800), `"` + strings.Repeat(`\\`, 500) + `"`,
	}
	made := 150
	if testing.Short() {
		made = 20
	}
	for range made {
		documents = append(documents, string(anyDocument(r, 0)))
	}
	for _, d := range documents {
		var want any
		decoder := json.NewDecoder(strings.NewReader(d))
		if err := decoder.Decode(&want); err != nil {
			want = nil // numbers out of range: Python makes an infinity of them
			if !strings.Contains(err.Error(), "cannot unmarshal number") {
				t.Fatalf("%s: %v", d, err)
			}
			continue
		}
		h := run(t, "tools.github.x()", func(h *host) { h.handle = func(string, string) answer { return answer{data: d} } })
		var got any
		if d == "null" {
			if h.kind != outcomeNone {
				t.Errorf("null became outcome %d %s", h.kind, h.document)
			}
			continue
		}
		if err := json.Unmarshal([]byte(h.value(t)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %s (%v)", d, h.document, err)
		}
	}
}

func anyDocument(r *rand.Rand, depth int) []byte {
	scalars := []string{"null", "true", "false", "1", "-2.5", "1e10", `"x"`, `"\u00e9\n"`, `"é"`, "123456789", `""`, "0.000001"}
	kind := r.IntN(10)
	if depth > 4 || kind < 4 {
		return []byte(scalars[r.IntN(len(scalars))])
	}
	var b bytes.Buffer
	if kind < 7 {
		b.WriteByte('[')
		for i := range r.IntN(6) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.Write(anyDocument(r, depth+1))
		}
		b.WriteByte(']')
		return b.Bytes()
	}
	b.WriteByte('{')
	for i := range r.IntN(9) {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "%q: %s", fmt.Sprint("k", r.IntN(12)), anyDocument(r, depth+1))
	}
	b.WriteByte('}')
	return b.Bytes()
}
