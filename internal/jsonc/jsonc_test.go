package jsonc

import (
	"encoding/json"
	"testing"
)

func TestStripKeepsLinesAndColumns(t *testing.T) {
	for in, want := range map[string]string{
		"{}":                              "{}",
		"\ufeff{}":                        "{}",
		"{\"a\": 1, // x\n}":              "{\"a\": 1      \n}",
		"[1, /* a\nb */ 2,]":              "[1,     \n     2 ]",
		`{"a": "// \" /* ,]", "b": [1,]}`: `{"a": "// \" /* ,]", "b": [1 ]}`,
		"[1, 2 , /* x */ // y\n ]":        "[1, 2               \n ]",
		`"open`:                           `"open`,
		`"open\`:                          `"open\`,
		"[,]":                             "[ ]",
	} {
		got, err := Strip([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Strip(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := Strip([]byte("{} /* open")); err == nil {
		t.Error("no error for an unterminated comment")
	}
}

func TestPositionOfAnError(t *testing.T) {
	for in, want := range map[string]string{"{\n  x": "2:3", "[": "1:1", "{\"a\": \"x\"}": "1:9"} {
		var v struct{ A int }
		err := json.Unmarshal([]byte(in), &v)
		if got := Position([]byte(in), err); got != want {
			t.Errorf("Position(%q, %v) = %s, want %s", in, err, got, want)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte("{\"a\": [1, /* x */],}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := Strip(doc)
		if err == nil && json.Valid(doc) && string(got) != string(doc) {
			t.Errorf("%q became %q", doc, got)
		}
	})
}
