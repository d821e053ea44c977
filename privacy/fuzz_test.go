package privacy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/privacy/internal/detect"
	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/match"
)

// seeds are texts with something of every kind.
var seeds = []string{
	"", "plain text", "mail bob@example.org or call +1 (212) 555-0134 x12",
	`{"contact": {"tel": "555 0134", "mail": "Bob@Example.org"}, "list": ["4111 1111 1111 1111", 12.5e3, null, true]}`,
	`{"a": "{\"email\": \"bob@example.org\"}", "phone": 12125550134, "bob@example.org": 1}`,
	"DE89 3704 0044 0532 0130 00 DE136695976 203.0.113.7 2001:db8::ff00:42:8329 00:1A:2b:3c:4d:5e",
	"Herr Dr. Jürgen Weber, Hauptstraße 12, 10115 Berlin; 12 Main Street, Springfield, IL 62704",
	"name,email,phone\nJane Roe,jane@x.org,555-0134\n", "| Name | SSN |\n|---|---|\n| Jane Roe | 536-22-8791 |\n",
	"?q=bob%40x.org &#98;ob&#64;x.org bob\\u0040x.org Ym9iQGV4YW1wbGUub3Jn [EMAIL_1] [~EMAIL_2] %5BEMAIL_1%5D",
	"password=hunter2!x AKIAIOSFODNN7EXAMPLQ postgres://u:s3cretpw@db.example.com/x Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijkl",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
	"b\u200bob@exam\u00adple.org \uff14\uff11\uff11\uff11 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "[EMAIL_1:example.org] [[EMAIL_1]] [~~~CARD_3]",
	"born 12.03.1980, Geburtsdatum: 12. März 1980, né le 3 mai 1975, passport C01X00T47 AB 12 34 56 C RSSMRA85T10A562S 12345678Z",
}

func detectors(t testing.TB) []*Detector {
	t.Helper()
	var all []*Detector
	for _, c := range []Config{
		{},
		{Level: Strict, Regions: []string{"US", "DE", "GB", "FR"}, Patterns: map[string]string{"employee": "E-[0-9]{6}"}, Lists: map[string][]string{"project": {"Blue Moon", "x"}}},
		{Level: Relaxed, Fields: Fields{Never: []string{"order_id"}, Always: []string{"contact.*"}}, Ignore: []string{"*@acme.com"}, Modes: map[string]Mode{"tel": Redact}},
	} {
		d, err := NewDetector(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// FuzzScan checks that findings are inside the text, in order and disjoint.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	all := detectors(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range all {
			at := 0
			for _, x := range d.Scan([]byte(s)) {
				if x.Start < at || x.End <= x.Start || x.End > len(s) {
					t.Fatalf("%+v behind %d in %q", x, at, s)
				}
				at = x.End
			}
			d.Explain(s)
		}
	})
}

// FuzzRevealUndoesTokenize checks that Reveal restores the text, up to the
// spelling of what was found, and that a second pass loses nothing.
func FuzzRevealUndoesTokenize(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	all := detectors(f)
	f.Fuzz(func(t *testing.T, s string) {
		if holdsCoded([]byte(s), 0) || !utf8.ValidString(s) {
			return
		}
		for _, d := range all[:2] {
			v := NewVault(d)
			r := v.newRedaction(Tokenize, true)
			spans := r.pass.Document([]byte(s))
			var want []byte
			at := 0
			for _, x := range spans {
				if !x.Replaced {
					continue
				}
				want = append(want, s[at:x.Start]...)
				back := v.revealAll(x.Put)
				want = append(want, back...)
				at = x.End
			}
			want = append(want, s[at:]...)
			out := string(match.Edited([]byte(s), spans))
			if detect.LooksJSON([]byte(s)) && json.Valid([]byte(s)) && !json.Valid([]byte(out)) {
				t.Fatalf("%q became %q, which is not JSON", s, out)
			}
			if back := v.revealAll(out); back != string(want) && !json.Valid([]byte(s)) {
				t.Fatalf("%q\nbecame  %q\nback is %q\nwant    %q", s, out, back, want)
			}
			if r.counts.Total() == 0 && len(spans) == 0 && out != s {
				t.Fatalf("%q was changed without a finding", s)
			}
			again, _, err := v.Egress(out, Tokenize)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range spans {
				if x.Replaced && !strings.Contains(v.revealAll(again), strings.Trim(v.revealAll(x.Put), `"`)) {
					t.Fatalf("%q became %q, then %q, which has lost %q", s, out, again, x.Put)
				}
			}
		}
	})
}

// holdsCoded reports base64 that holds tokens or encodings: where base64 begins
// depends on the words around it, so that the two directions may differ.
func holdsCoded(s []byte, depth int) bool {
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && encodings.IsBase64(s[j]) {
			j++
		}
		for k := i; k+8 <= j; k++ {
			for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				text, _ := enc.DecodeString(string(s[k:j]))
				if bytes.ContainsAny(text, "[%&") || bytes.ContainsAny(text, `\`) {
					return true
				}
			}
		}
		i = j + 1
	}
	return false
}

// FuzzJSON checks that exactly JSON is accepted, and that the result is JSON.
func FuzzJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	all := detectors(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, d := range all {
			v := NewVault(d)
			out, _, err := v.JSON(doc, Tokenize)
			if (err == nil) != json.Valid(doc) {
				t.Fatalf("%q: valid is %v, but %v", doc, json.Valid(doc), err)
			}
			if err != nil {
				continue
			}
			if !json.Valid(out) {
				t.Fatalf("%q became %q", doc, out)
			}
			back, err := v.revealAllJSON(out)
			if err != nil || !json.Valid(back) {
				t.Fatalf("%q became %q, then %q: %v", doc, out, back, err)
			}
		}
	})
}

// hostile are units that make naive detectors slow when they are repeated.
var hostile = map[string]string{
	"at signs": "@", "dots": ".", "digits": "1", "spaced digits": "1 ", "hyphens": "-", "grouped": "123-", "area codes": "(212) ", "pluses": "+1", "local parts": "a.a@", "labels": "a:a=",
	"phones": "tel: 555-0134 ", "quotes": `"a":"`, "brackets": "[", "marks": "[EMAIL_1] ", "open marks": "[~~~~~~~~~~~~~~~~A_1", "keys": "-----BEGIN RSA PRIVATE KEY-----", "colons": ":", "addresses": "a:b:c:", "pairs": "aa:bb:", "urls": "http://a:b",
	"percent": "%40", "half percent": "%4", "entities": "&#64;", "half entities": "&#64", "escapes": `\u0040`, "names": "John ", "titles": "Mr. Dr. ", "links": "John von der ", "streets": "12 Main ", "street words": "Main Street 1 ",
	"rows": "a,b,c\n", "name rows": "name,email\n", "tables": "| name | b |\n|---|---|\n", "blank lines": "name,b\n\n", "jwt": "eyJ", "base64": "QWxhZGRpbjpv", "base64 path": "QWxhZGRpbjpv/", "iban": "DE89 3704 ", "hex": "a94a8fe5", "dates": "1980-01-",
	"wide": "\uff14", "zero width": "\u200b", "names with accents": "José ", "objects": `{"a":`, "lists": "[", "passwords": "password=", "secrets": "sk-", "backslashes": `\`, "words": "supercalifragilistic_", "first names": "James\n", "long words": "Aa1", "dashed": "aa-", "born": "born 1 ", "small names": "name: jan de ", "small words": "kunde: maria, ", "particles": "name: de la ",
}

func TestTimeIsLinearInHostileText(t *testing.T) {
	d := detectors(t)[1]
	size := 1 << 18
	if testing.Short() {
		size = 1 << 16
	}
	const times = 64
	for name, unit := range hostile {
		cost := func(n, repeats int) time.Duration {
			text := []byte(strings.Repeat(unit, n/len(unit)))
			start := time.Now()
			for range repeats {
				d.Scan(text)
				v := NewVault(d)
				out, _, _ := v.Text(string(text), Tokenize)
				v.revealAll(out)
			}
			return time.Since(start)
		}
		// Both sides search as many bytes, so that a busy machine disturbs both.
		// Quadratic time would take 64 times as long.
		var small, large time.Duration
		for range 20 {
			if small, large = cost(size/times, times), cost(size, 1); large <= 16*small {
				break
			}
		}
		if large > 16*small {
			t.Errorf("%s: %v for %d pieces of %d bytes, %v for one of %d", name, small, times, size/times, large, size)
		}
	}
}
