package javascript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// documents makes JSON texts, most of them right and some spoilt, that dwell on
// what parsers get wrong.
type documents struct{ *rand.Rand }

var oddKeys = []string{`"__proto__"`, `"constructor"`, `"toJSON"`, `"length"`, `""`, `"0"`, `"1"`, `"4294967295"`, `"-1"`, `"a\u0000b"`, `"\ud800"`, `"é"`, `"😀"`, `"a b"`, `"\u0061"`, `"a"`}
var oddNumbers = []string{"0", "-0", "0.0", "-0.0", "1", "-1", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "2147483647", "2147483648", "-2147483648", "4294967296", "123456789012345678", "1234567890123456789", "123456789012345678901234567890", "0.1", "1e0", "1E+2", "1e-7", "5e-324", "1.7976931348623157e308", "1e309", "1e-400", "0.30000000000000004", "1.0000000000000002", "72057594037927945", "3.141592653589793238462643383279", "1e22", "1e23", "-1.5e-10"}
var oddStrings = []string{`""`, `"x"`, `"\n\t\"\\\/\b\f\r"`, `"é"`, `"😀"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00x"`, `"\u0000"`, `"\u00e9"`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`, `"exactly sixteen!"`, `"fifteen letters"`, `"seventeen letters"`, "\"\u2028\u2029\"", `"\u007f"`}

func (d documents) value(depth int) string {
	switch d.IntN(12) {
	case 0, 1:
		return oddNumbers[d.IntN(len(oddNumbers))]
	case 2, 3:
		return oddStrings[d.IntN(len(oddStrings))]
	case 4:
		return []string{"true", "false", "null"}[d.IntN(3)]
	case 5:
		return fmt.Sprint(d.Float64() * 1e6)
	case 6:
		return fmt.Sprint(d.Int64N(1<<60) - 1<<59)
	}
	if depth == 0 {
		return "{}"
	}
	var parts []string
	object := d.IntN(2) == 0
	for range d.IntN(7) {
		part := d.value(depth - 1)
		if object {
			key := oddKeys[d.IntN(len(oddKeys))]
			if d.IntN(2) == 0 {
				key = fmt.Sprintf(`"key%d"`, d.IntN(5))
			}
			part = key + d.space() + ":" + d.space() + part
		}
		parts = append(parts, d.space()+part+d.space())
	}
	if object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (d documents) space() string { return []string{"", "", "", " ", "\n", "\t\r "}[d.IntN(6)] }

// records makes a list of equal records, the case the shapes are for.
func (d documents) records() string {
	var parts []string
	for i := range 40 {
		last := fmt.Sprintf(`,"extra%d":%s`, i%3, d.value(1))
		parts = append(parts, fmt.Sprintf(`{"id":%d,"name":"n%d","tags":%s,"nested":{"a":%s,"b":null}%s}`, i, i%4, d.value(1), d.value(0), last))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

const noise = "{}[]\",:\\0123456789eE+-.tfn "

func (d documents) spoilt(text string) string {
	b := []byte(text)
	for range 1 + d.IntN(2) {
		if len(b) == 0 {
			break
		}
		i := d.IntN(len(b))
		switch d.IntN(4) {
		case 0:
			b[i] = noise[d.IntN(len(noise))]
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			b = b[:i]
		case 3:
			b = append(b[:i], append([]byte{noise[d.IntN(8)]}, b[i:]...)...)
		}
	}
	return string(b)
}

// agree runs texts through the guest: JSON.parse and its way back, against
// encoding/json and against a parser written in plain JavaScript steps: the
// original JSON.stringify with indentation, which never takes the fast path.
func agree(t *testing.T, texts []string) {
	t.Helper()
	h := run(t, `return args.map((text) => {
  let value
  try { value = JSON.parse(text) } catch (e) { return e instanceof SyntaxError ? 'bad' : String(e) }
  const fast = JSON.stringify(value), slow = JSON.stringify(value, null, 1)
  const reviver = JSON.stringify(JSON.parse(text, (k, v) => v), null, 1)
  if (JSON.stringify(JSON.parse(slow), null, 1) !== slow) return 'the way back differs'
  if (reviver !== slow && !text.includes('__proto__')) return 'the original parser differs: ' + reviver
  if (typeof fast === 'string' && JSON.stringify(JSON.parse(fast), null, 1) !== slow) return 'the writer differs'
  return [fast]
})`, func(h *host) { h.input["args"] = texts })
	if h.outcome != outcomeValue {
		t.Fatalf("outcome %d %s", h.outcome, h.document)
	}
	var results []any
	if err := json.Unmarshal(h.document, &results); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		valid := json.Valid([]byte(text))
		list, parsed := results[i].([]any)
		switch {
		case !parsed && results[i] != "bad":
			t.Errorf("%q: %v", text, results[i])
		case parsed != valid:
			t.Errorf("%q: parsed %v, encoding/json says %v", text, parsed, valid)
		case parsed:
			var got, want any
			// numbers beyond a float are Infinity to JavaScript and null on the way back
			if json.Unmarshal([]byte(text), &want) != nil {
				continue
			}
			if err := json.Unmarshal([]byte(list[0].(string)), &got); err != nil {
				t.Errorf("%q became %q: %v", text, list[0], err)
			} else if !reflect.DeepEqual(got, want) {
				t.Errorf("%q became %q", text, list[0])
			}
		}
	}
}

// TestJSONAgreesWithEncodingJSON compares random documents, right and spoilt.
func TestJSONAgreesWithEncodingJSON(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		d := documents{rand.New(rand.NewPCG(7, uint64(round)))}
		var texts []string
		for range 300 {
			text := d.value(4)
			texts = append(texts, text)
			if d.IntN(3) == 0 {
				texts = append(texts, d.spoilt(text))
			}
		}
		texts = append(texts, d.records(), d.spoilt(d.records()))
		agree(t, texts)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range append(append(append([]string{}, oddKeys...), oddNumbers...), oddStrings...) {
		f.Add(text)
		f.Add(`{"a":` + text + `,"a":[` + text + `]}`)
	}
	committed(f) // compiled before the clock of a single input runs
	f.Fuzz(func(t *testing.T, text string) {
		if !bytes.Equal([]byte(text), bytes.ToValidUTF8([]byte(text), nil)) {
			return // a JavaScript string cannot carry it into the guest
		}
		agree(t, []string{text})
	})
}

// TestAnswersAreReadAsTheyAre: what a tool answers becomes the value that
// encoding/json sees in it.
func TestAnswersAreReadAsTheyAre(t *testing.T) {
	d := documents{rand.New(rand.NewPCG(11, 3))}
	for range 60 {
		text := d.value(4)
		if strings.Contains(text, "1e309") || strings.Contains(text, `\ud800`) || strings.Contains(text, `\udc00`) {
			continue
		}
		h := run(t, "return tools.a.b()", func(h *host) {
			h.handle = func(string, []byte) answer { return answer{kind: answerJSON, data: []byte(text)} }
		})
		var got, want any
		if json.Unmarshal([]byte(text), &want) != nil {
			continue
		}
		if json.Unmarshal(h.document, &got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %d %q", text, h.outcome, h.document)
		}
	}
}

// TestDeepAndWideDocuments are right however deep or wide.
func TestDeepAndWideDocuments(t *testing.T) {
	for _, depth := range []int{10, 1000, 3999, 4000, 4001, 10000} {
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		h := run(t, `let d = 0; for (let v = JSON.parse(args); v; v = v[0]) d++; return d`, func(h *host) { h.input["args"] = text })
		if e := string(h.document); e != fmt.Sprint(depth) && !(depth > 4000 && h.outcome == outcomeError) {
			t.Errorf("%d levels: %s", depth, e)
		}
	}
	var keys []string
	for i := range 5000 {
		keys = append(keys, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	text := "[{" + strings.Join(keys, ",") + "},{" + strings.Join(keys[:100], ",") + "}]"
	h := run(t, `const v = JSON.parse(args); return [Object.keys(v[0]).length, v[0].k4999, Object.keys(v[1]).join() === Object.keys(v[0]).slice(0, 100).join()]`,
		func(h *host) { h.input["args"] = text })
	if string(h.document) != "[5000,4999,true]" {
		t.Errorf("a wide object: %s", h.document)
	}
}
