package jsonscan

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `truee`, `0`, `-0`, `01`, `-`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+05`, `1e-`, `-1.25e-3`, `1e400`,
	`""`, `"a"`, `"`, `"\`, `"\n\u00e9\"\\\/"`, `"\u12"`, `"\u12g4"`, `"\x"`, "\"\x1f\"", "\"\x7f\xff\"", "\"a\nb\"", `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00x"`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `]`, `[}`, `{]`, `{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a" 1}`, `{,}`,
	`{"a":[{"b":[[],{}]},"c"],"d":{"e":null}}`, `[[[[]]]]`, `1 2`, `{} []`, ` [ 1 , { "a" : "b" } ] `, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"bbbbbbbbbbbbbb"`,
	`"aaaaaaaaaaaaaaa` + "\x00" + `a"`, `"äöüäöüäöüäöü€€€€€€"`, `{"":""}`, `{"a":1,"a":2}`, `[true,false,null]`, "\xef\xbb\xbf1", `[1,2}`, `{"a":1]`,
}

// nested returns documents around the deepest nesting.
func nested() []string {
	var all []string
	for _, n := range []int{MaxDepth - 1, MaxDepth, MaxDepth + 1} {
		all = append(all, strings.Repeat("[", n)+strings.Repeat("]", n), strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n),
			strings.Repeat("[", n)+"1"+strings.Repeat("]", n), strings.Repeat("[", n))
	}
	return all
}

func TestValidAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	for _, doc := range append(nested(), seeds...) {
		if got, want := Valid([]byte(doc)), json.Valid([]byte(doc)); got != want {
			t.Errorf("%.60q (%d bytes): %v, encoding/json says %v", doc, len(doc), got, want)
		}
	}
}

// checkTokens compares the tokens of a valid document with those of a
// json.Decoder, and the positions with the text.
func checkTokens(t *testing.T, doc string) {
	t.Helper()
	theirs := json.NewDecoder(strings.NewReader(doc))
	theirs.UseNumber()
	s := New([]byte(doc))
	for s.Next() {
		want, err := theirs.Token()
		if err != nil {
			t.Fatalf("%q: %s at %d, encoding/json: %v", doc, string(s.Kind), s.Start, err)
		}
		text := doc[s.Start:s.End]
		switch s.Kind {
		case Object, ObjectEnd, Array, ArrayEnd:
			if d, ok := want.(json.Delim); !ok || byte(d) != byte(s.Kind) || text != d.String() {
				t.Fatalf("%q: %q, not %v", doc, text, want)
			}
		case Name, String:
			if w, ok := want.(string); !ok || unescaped(text) != w || s.Escaped != strings.Contains(text, `\`) {
				t.Fatalf("%q: %q, not %v", doc, text, want)
			}
		case Number:
			if n, ok := want.(json.Number); !ok || text != n.String() {
				t.Fatalf("%q: %q, not %v", doc, text, want)
			}
		case True, False:
			if b, ok := want.(bool); !ok || b != (text == "true") || text[0] != byte(s.Kind) {
				t.Fatalf("%q: %q, not %v", doc, text, want)
			}
		case Null:
			if want != nil || text != "null" {
				t.Fatalf("%q: %q, not %v", doc, text, want)
			}
		}
	}
	if _, err := theirs.Token(); err != io.EOF || s.Err() != nil || s.Kind != None || s.Next() {
		t.Fatalf("%q: tokens are missing", doc)
	}
}

// unescaped is the value of the inside of a string, as encoding/json has it.
func unescaped(text string) string {
	var out []byte
	for i := 0; i < len(text); {
		if text[i] == '\\' {
			r, n := Unescape(text[i:])
			out, i = utf8.AppendRune(out, r), i+n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		out, i = utf8.AppendRune(out, r), i+n
	}
	return string(out)
}

func TestTokensAreThoseOfEncodingJSON(t *testing.T) {
	mixed := slices.Clone(seeds)
	for n := 30; n < 36; n++ { // around 64 levels
		mixed = append(mixed, strings.Repeat(`[{"a":`, n)+"1"+strings.Repeat("}]", n), strings.Repeat(`{"a":[`, n)+"1"+strings.Repeat("]}", n),
			strings.Repeat(`[{"a":`, n)+"1"+strings.Repeat("]}", n))
	}
	for _, doc := range mixed {
		if json.Valid([]byte(doc)) {
			checkTokens(t, doc)
		}
	}
}

func TestErrorsNameThePlaceAndTheReason(t *testing.T) {
	for doc, want := range map[string]string{
		``: "offset 0: unexpected end of JSON", `[1`: "offset 2: unexpected end of JSON", `"ab`: "offset 3: unexpected end of JSON",
		`[1 2]`: "offset 3: expected ',' or ']'", `{"a":1;`: "offset 6: expected ',' or '}'", `{a:1}`: "offset 1: expected a member name in quotes",
		`{"a" 1}`: "offset 5: expected ':' after a member name", `x`: "offset 0: expected a value", `tru `: "offset 0: expected a value",
		`1 2`: "offset 2: unexpected data after the value", `01`: "offset 0: invalid number: leading zero", `[-a]`: "offset 2: invalid number",
		"\"\x01\"": "offset 1: control character in a string", `"a\x"`: "offset 2: invalid escape in a string",
	} {
		s := New([]byte(doc))
		for s.Next() {
		}
		var e *SyntaxError
		if err := s.Err(); !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, not %s", doc, err, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, doc := range seeds {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		valid := Valid([]byte(doc))
		if want := json.Valid([]byte(doc)); valid != want {
			t.Fatalf("%q: %v, encoding/json says %v", doc, valid, want)
		}
		if valid {
			checkTokens(t, doc)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	doc := []byte("[" + strings.Repeat(`{"sha":"0123456789abcdef0123456789abcdef01234567","message":"fix: `+strings.Repeat("the reason in words. ", 20)+`","additions":123,"verified":true},`, 2000) + "null]")
	for name, f := range map[string]func([]byte) bool{"jsonscan": Valid, "encoding": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !f(doc) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
