package hostfns

import (
	"encoding/json"
	"strings"
	"testing"
)

var jsonSeeds = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `truee`, `0`, `-0`, `01`, `-`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+05`, `1e-`, `-1.25e-3`,
	`""`, `"a"`, `"`, `"\`, `"\n\u00e9\"\\\/"`, `"\u12"`, `"\u12g4"`, `"\x"`, "\"\x1f\"", "\"\x7f\xff\"", "\"a\nb\"",
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `]`, `[}`, `{]`, `{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`,
	`{"a":[{"b":[[],{}]},"c"],"d":{"e":null}}`, `[[[[]]]]`, `1 2`, `{} []`, ` [ 1 , { "a" : "b" } ] `, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"bbbbbbbbbbbbbb"`,
	`"aaaaaaaaaaaaaaa` + "\x00" + `a"`, `"äöüäöüäöüäöü€€€€€€"`, `{"":""}`, `[true,false,null]`, "\xef\xbb\xbf1",
}

func TestJSONIsWhatEncodingJSONTakes(t *testing.T) {
	all := append([]string{}, jsonSeeds...)
	for _, n := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		all = append(all, strings.Repeat("[", n)+strings.Repeat("]", n), strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n), strings.Repeat("[", n)+"1"+strings.Repeat("]", n))
	}
	for _, doc := range all {
		if got, want := IsJSON([]byte(doc)), json.Valid([]byte(doc)); got != want {
			t.Errorf("%.60q (%d bytes): %v, encoding/json says %v", doc, len(doc), got, want)
		}
	}
}

func FuzzIsJSON(f *testing.F) {
	for _, doc := range jsonSeeds {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if got, want := IsJSON(doc), json.Valid(doc); got != want {
			t.Errorf("%q: %v, encoding/json says %v", doc, got, want)
		}
	})
}

func BenchmarkIsJSON(b *testing.B) {
	doc := []byte("[" + strings.Repeat(`{"sha":"0123456789abcdef0123456789abcdef01234567","message":"fix: `+strings.Repeat("the reason in words. ", 20)+`","additions":123,"verified":true},`, 2000) + "null]")
	for name, f := range map[string]func([]byte) bool{"ours": IsJSON, "encoding": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !f(doc) {
					b.Fatal("no JSON")
				}
			}
		})
	}
}
