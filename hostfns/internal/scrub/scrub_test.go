package scrub

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// writers write a text in one of the forms that are searched.
var writers = map[string]func(r *rand.Rand, v string) string{
	"plain": func(_ *rand.Rand, v string) string { return v },
	"query": func(_ *rand.Rand, v string) string { return url.QueryEscape(v) },
	"path":  func(_ *rand.Rand, v string) string { return url.PathEscape(v) },
	"html":  func(r *rand.Rand, v string) string { return quoted(html.EscapeString(v), r.IntN(2) == 0) },
	"percent": func(r *rand.Rand, v string) string {
		return eachByte(v, func(c byte) string {
			return pick(r, string([]byte{c}), fmt.Sprintf("%%%02x", c), fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%25%02X", c))
		})
	},
	"json": func(r *rand.Rand, v string) string {
		for range 1 + r.IntN(4) {
			v = quoted(v, r.IntN(2) == 0)
		}
		return v
	},
	"json escapes": func(r *rand.Rand, v string) string {
		return eachRune(v, func(c rune) string {
			if c > 0xffff {
				return quoted(string(c), false)
			}
			return pick(r, quoted(string(c), false), fmt.Sprintf(`\u%04x`, c), fmt.Sprintf(`\u%04X`, c), fmt.Sprintf(`\\u%04X`, c))
		})
	},
	"python bytes": func(_ *rand.Rand, v string) string {
		return eachByte(v, func(c byte) string {
			if c < 0x80 {
				return quoted(string(rune(c)), false)
			}
			return fmt.Sprintf(`\x%02x`, c)
		})
	},
	"hex":       func(r *rand.Rand, v string) string { return anyCase(r, hex.EncodeToString([]byte(v))) },
	"hex dump":  func(_ *rand.Rand, v string) string { return fmt.Sprintf("% x", v) },
	"hex lines": func(_ *rand.Rand, v string) string { return folded(hex.EncodeToString([]byte(v)), 8, "\n") },
	"base64": func(r *rand.Rand, v string) string {
		enc := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}[r.IntN(4)]
		return enc.EncodeToString([]byte(text(r, r.IntN(4)) + v + text(r, r.IntN(4))))
	},
	"base64 in JSON and URLs": func(r *rand.Rand, v string) string {
		v = base64.StdEncoding.EncodeToString([]byte(text(r, r.IntN(4)) + v))
		return strings.NewReplacer("+", pick(r, "+", "%2b", "%2B", `\u002B`, "%252B"), "/", pick(r, "/", "%2f", "%2F", `\/`, `\u002f`)).Replace(v)
	},
	"base64 lines": func(r *rand.Rand, v string) string {
		return folded(base64.StdEncoding.EncodeToString([]byte(v)), 5+r.IntN(70), pick(r, "\n", "\r\n", `\n`, `\\r\\n`))
	},
}

func eachByte(v string, f func(byte) string) string {
	var b strings.Builder
	for i := range len(v) {
		b.WriteString(f(v[i]))
	}
	return b.String()
}

func eachRune(v string, f func(rune) string) string {
	var b strings.Builder
	for _, c := range v {
		b.WriteString(f(c))
	}
	return b.String()
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func quoted(v string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	_ = enc.Encode(v)
	return b.String()[1 : b.Len()-2]
}

func anyCase(r *rand.Rand, v string) string {
	return eachByte(v, func(c byte) string { return pick(r, strings.ToLower(string(c)), strings.ToUpper(string(c))) })
}

func folded(v string, width int, end string) string {
	var b strings.Builder
	for ; len(v) > width; v = v[width:] {
		b.WriteString(v[:width] + end)
	}
	return b.String() + v
}

// text returns random text.
func text(r *rand.Rand, n int) string {
	const from = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;-_+/%&=\\\"'<>{}[]\n\té日😀"
	runes := []rune(from)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

// in reports whether a text has a value in any of the forms of writers that do
// not depend on chance.
func in(s, v string) bool {
	if strings.Contains(s, v) || strings.Contains(strings.ToLower(s), hex.EncodeToString([]byte(v))) {
		return true
	}
	for _, x := range [][2]string{{"-", "+"}, {"_", "/"}} {
		s = strings.ReplaceAll(s, x[0], x[1])
	}
	for before := range 3 {
		enc := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before%3] + v))
		if strings.Contains(s, enc[(before*8+5)/6:len(enc)-1]) {
			return true
		}
	}
	return false
}

// TestNoSecretSurvives writes random secrets in every form into random text, and
// reads it whole and in random pieces.
func TestNoSecretSurvives(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for how, write := range writers {
		t.Run(how, func(t *testing.T) {
			for seed := range rounds {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				var s Scrubber
				var values []string
				for range 1 + r.IntN(5) {
					v := "S" + text(r, Shortest+r.IntN(40)) + "E"
					if s.Add("", v) {
						values = append(values, v)
					}
				}
				v := values[r.IntN(len(values))]
				before, after := text(r, r.IntN(100)), text(r, r.IntN(100))
				input := before + " " + write(r, v) + " " + after
				got := s.Text(input)
				if !strings.Contains(got, "[secret]") || in(got, v) {
					t.Fatalf("seed %d: %q is left of %q in %q", seed, v, got, input)
				}
				if strings.HasPrefix(how, "base64") || strings.HasPrefix(how, "hex") {
					// Its neighbors may be digits too.
				} else if want := before + " [secret] " + after; got != want {
					t.Fatalf("seed %d: %q, want %q", seed, got, want)
				}
				pieces := iotest.OneByteReader
				if seed%3 > 0 {
					pieces = func(in io.Reader) io.Reader { return &choppy{in, r} }
				}
				read, err := io.ReadAll(s.Reader(pieces(strings.NewReader(input))))
				if err != nil || string(read) != got {
					t.Fatalf("seed %d: in pieces %q, %v, want %q", seed, read, err, got)
				}
				var written bytes.Buffer
				w := s.Writer(&written)
				for at := 0; at < len(input); {
					n := min(1+r.IntN(20), len(input)-at)
					_, _ = w.Write([]byte(input[at : at+n]))
					at += n
				}
				if got := written.String() + string(w.Held()); got != string(read) {
					t.Fatalf("seed %d: written %q, want %q", seed, got, read)
				}
			}
		})
	}
}

// choppy reads pieces of random length.
type choppy struct {
	r    io.Reader
	rand *rand.Rand
}

func (c *choppy) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), 1+c.rand.IntN(50))]) }

func TestOtherTextStays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s Scrubber
	for range 20 {
		s.Add("", text(r, 30))
	}
	for range 200 {
		in := text(r, r.IntN(5000))
		if got := s.Text(in); got != in {
			t.Fatalf("%q became %q", in, got)
		}
		if got, err := io.ReadAll(s.Reader(&choppy{strings.NewReader(in), r})); err != nil || string(got) != in {
			t.Fatalf("%q became %q in pieces: %v", in, got, err)
		}
	}
}

func TestSecretsWithinEachOther(t *testing.T) {
	var s Scrubber
	for _, v := range []string{"aaaaaaaa", "bbbbbb", "xbbbbbbx", "bbbbbbcc", "ccdddddd"} {
		s.Add("", v)
	}
	for in, want := range map[string]string{
		strings.Repeat("a", 10_000): "[secret]",
		"-xbbbbbbx-":                "-[secret]-",
		"-bbbbbbccdddddd-":          "-[secret]-",
		"bbbbbb bbbbbb":             "[secret] [secret]",
		"aaaaaaa":                   "aaaaaaa",
	} {
		read, err := io.ReadAll(s.Reader(iotest.HalfReader(strings.NewReader(in))))
		if got := s.Text(in); got != want || string(read) != want || err != nil {
			t.Errorf("%.40q became %q, in pieces %q", in, got, read)
		}
	}
}

func TestMarks(t *testing.T) {
	var s Scrubber
	if s.Add("pin", "12345") || s.Add("", strings.Repeat("x", Longest+1)) {
		t.Error("a secret of a length that cannot be removed was added")
	}
	if !s.Empty() || s.Text("12345") != "12345" {
		t.Error("a short secret is removed")
	}
	s.Add("key", "first-key")
	s.Add(`a "name"`, "second-key")
	s.Add("count", "123456")
	if got := s.Text(`first-key second-key {"n":123456}`); got != `[secret key] [secret] {"n":0}` {
		t.Error(got)
	}
	for n := range maxSecrets + 10 {
		s.Add("", fmt.Sprintf("secret number %d.", n))
	}
	if got := s.Text("first-key"); got != "first-key" {
		t.Errorf("more than %d secrets are kept: %s", maxSecrets, got)
	}
}

// TestMemoryIsBounded gives a text that reaches as many states as there are.
func TestMemoryIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s Scrubber
	var values []string
	for range 60 {
		v := text(r, 50)
		s.Add("", v)
		values = append(values, v)
	}
	m := s.current().machine()
	for range 500 {
		v := writers[pick(r, "percent", "json escapes", "hex", "base64")](r, values[r.IntN(len(values))])
		m.scan([]byte(v[:len(v)*3/4]), 0)
		m.reset()
		if len(m.rows) > maxRows {
			t.Fatalf("%d rows", len(m.rows))
		}
	}
	// A beginning of a secret that never ends is not held for ever.
	var out bytes.Buffer
	w := s.Writer(&out)
	for range 100 {
		_, _ = w.Write(bytes.Repeat([]byte(`\`), 10_000))
	}
	if held := 1_000_000 - out.Len(); held > s.current().longest {
		t.Errorf("%d bytes are held", held)
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("secret key", "text with secret%20key and c2VjcmV0IGtleQ==", uint8(3))
	f.Fuzz(func(t *testing.T, value, input string, size uint8) {
		var s Scrubber
		if !s.Add("", value) || strings.Contains("[secret]0", value) {
			return
		}
		got := s.Text(input)
		if strings.Contains(input, value) && got == input {
			t.Fatalf("%q stays in %q", value, input)
		}
		read, err := io.ReadAll(s.Reader(&sized{strings.NewReader(input), int(size) + 1}))
		if err != nil || string(read) != got {
			t.Fatalf("%q in pieces is %q, want %q", input, read, got)
		}
		if utf8.ValidString(input) && utf8.ValidString(value) && got != input && !utf8.ValidString(got) {
			t.Fatalf("%q became invalid: %q", input, got)
		}
	})
}

type sized struct {
	r io.Reader
	n int
}

func (s *sized) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }

func BenchmarkScrub(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	var s Scrubber
	for range 20 {
		s.Add("", base64.RawURLEncoding.EncodeToString([]byte(text(r, 30)))[:36])
	}
	prose := []byte(strings.Repeat(`{"id": 12345, "name": "A customer in Rome", "note": "Called on Monday, wants an offer\nuntil Friday."},`, 10_500)[:1<<20])
	random := make([]byte, 3<<18)
	for i := range random {
		random[i] = byte(r.IntN(256))
	}
	for name, data := range map[string][]byte{"json": prose, "base64": []byte(base64.StdEncoding.EncodeToString(random))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				s.Bytes(data)
			}
		})
	}
}
