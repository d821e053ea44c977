package service

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func TestAValueIsFoundInEverySpelling(t *testing.T) {
	k := &Keys{digests: make([]byte, 32)}
	utf16LE := func(s string) string {
		var out []byte
		for _, u := range utf16.Encode([]rune(s)) {
			out = append(out, byte(u), byte(u>>8))
		}
		return string(out)
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, value := range []string{"Ada.Lovelace@example.org", "Zoë Müller", "O'Brien \"Bo\" <x>", "4111 1111 1111 1111"} {
		marks := k.marksOf(value)
		for name, text := range map[string]string{
			"as it is":           value,
			"in a sentence":      "write to " + value + ", please",
			"in capitals":        strings.ToUpper(value),
			"in JSON":            `{"a":[{"to":` + quoted(value) + `}]}`,
			"as a key":           `{` + quoted(value) + `:1}`,
			"in JSON in JSON":    quoted(`{"to":` + quoted(value) + `}`),
			"after a line end":   quoted("a\n" + value + "\nb"),
			"in a URL":           "https://x.example/?q=" + url.QueryEscape(strings.ReplaceAll(value, " ", "%20")) + "&b=1",
			"in base64":          "const x = '" + b64("to "+value) + "'",
			"in base64 of URLs":  base64.RawURLEncoding.EncodeToString([]byte("<<??>>" + value)),
			"behind a prefix":    "abcde" + b64(value),
			"in base64 twice":    b64(b64("x " + value)),
			"in hexadecimal":     "0x" + hex.EncodeToString([]byte(value)),
			"in UTF-16":          utf16LE(value),
			"in UTF-16 in hex":   hex.EncodeToString([]byte(utf16LE(value))),
			"in UTF-16 as JSON":  quoted(utf16LE(value)),
			"in base64 of UTF16": `{"data":"` + b64(utf16LE(value)) + `"}`,
		} {
			if name == "in a URL" && strings.Contains(value, " ") || strings.Contains(name, "UTF") && value == "Zoë Müller" {
				continue
			}
			if !k.found([]byte(text), marks) {
				t.Errorf("%s is not found %s: %q", value, name, text)
			}
		}
		for _, text := range []string{"", "x", value[1:], value[:len(value)-1], "a" + value, value + "b", strings.Repeat("a", 1000)} {
			if inWord := isLetter(value[len(value)-1]); k.found([]byte(text), marks) && value[0] != '4' && inWord {
				t.Errorf("%s is found in %q", value, text)
			}
		}
	}
	if marks := k.marksOf("4111 1111 1111 1111"); !k.found([]byte(`{"card":"4111-1111-1111-1111"}`), marks) || k.found([]byte("4111-1111-1111-1112"), marks) {
		t.Error("a number is not found by its digits")
	}
}

// quoted is a string as JSON that escapes all but letters.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, u := range utf16.Encode([]rune(s)) {
		if u < 0x80 && isLetter(byte(u)) {
			b.WriteByte(byte(u))
		} else {
			b.WriteString(`\u` + hex.EncodeToString([]byte{byte(u >> 8), byte(u)}))
		}
	}
	return b.String() + `"`
}

// A hostile text takes time that grows with its size.
func TestASearchIsLinear(t *testing.T) {
	k := &Keys{digests: make([]byte, 32)}
	marks := k.marksOf("ada@example.org", "4111 1111 1111 1111")
	for name, part := range map[string]string{"brackets": "[", "quotes": `"[\"`, "base64": "aGVsbG8gd29ybGQhIQ", "hex": "68656c6c6f", "escapes": `\u005c`, "percent": "%25"} {
		text := []byte(strings.Repeat(part, (1<<20)/len(part)))
		begin := time.Now()
		if k.found(text, marks) {
			t.Errorf("%s: found", name)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: 1 MiB took %v", name, took)
		} else {
			t.Log(name, took)
		}
	}
}
