package privacy

import (
	"fmt"
	"strings"
	"testing"
)

// plainAnswer is the answer of a tool without personal data, as issue trackers and
// repositories return it.
func plainAnswer(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"commits":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sha":"%040x","id":%d,"state":"open","title":"Fix the parser so that it reads nested lists (#%d)","labels":["bug","parser"],"url":"https://api.example.org/repos/acme/tools/commits/%d","created_at":"2026-11-%02dT08:%02d:00Z","additions":%d,"score":%d.25,"body":"The reader stopped at the first empty list. It now goes on, and a test checks that. See the notes in docs/parser.md for the reasons."}`,
			i*7919+1_000_003, 4_000_000+i, i, i, i%28+1, i%60, i%500, i%10)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// denseAnswer holds personal data in each record.
func denseAnswer(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"customers":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"Jane Miller","email":"jane.miller%d@example.org","phone":"+1 212 555 %04d","address":"%d Main Street, Springfield, IL 62704","note":"asked to be called back about her order"}`, i, i, i%10000, i%900+1)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkPlainJSON(b *testing.B) {
	d := detectors(b)[0]
	doc := plainAnswer(1 << 20)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if out, _, err := NewVault(d).JSON(doc, Tokenize); err != nil || len(out) != len(doc) {
			b.Fatal(err, len(out), len(doc))
		}
	}
}

func BenchmarkPlainText(b *testing.B) {
	d := detectors(b)[0]
	text := []byte(strings.Repeat("The reader stopped at the first empty list. It now goes on, and a test checks that, see docs/parser.md.\nOn 2026-11-21 08:00:00 INFO request 4711 took 12 ms\n", 7000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if n := len(d.Scan(text)); n != 0 {
			b.Fatal(n)
		}
	}
}

func BenchmarkDenseJSON(b *testing.B) {
	d := detectors(b)[0]
	doc := denseAnswer(1 << 20)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, c, err := NewVault(d).JSON(doc, Tokenize); err != nil || c.Total() < 1000 {
			b.Fatal(err, c)
		}
	}
}

func BenchmarkSureKindsPlainJSON(b *testing.B) {
	d, err := NewDetector(Config{Detect: DefaultKinds()})
	if err != nil {
		b.Fatal(err)
	}
	doc := plainAnswer(1 << 20)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, _, err := NewVault(d).JSON(doc, Tokenize); err != nil {
			b.Fatal(err)
		}
	}
}

// denseText is a log with personal data on each line.
func denseText(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "2026-11-21T08:00:%02dZ INFO order %d by jane.miller%d@example.org, phone +1 212 555 %04d, ships to %d Main Street, Springfield, IL 62704\n", i%60, i, i, i%10000, i%900+1)
	}
	return b.String()
}

func BenchmarkDenseText(b *testing.B) {
	d := detectors(b)[0]
	text := denseText(1 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, c, err := NewVault(d).Text(text, Tokenize); err != nil || c.Total() < 1000 {
			b.Fatal(err, c)
		}
	}
}

// BenchmarkOpen is what a run pays before it begins: a vault that reads the text
// of the program.
func BenchmarkOpen(b *testing.B) {
	d := detectors(b)[0]
	code := strings.Repeat("const list = await tools.github.list_commits({ limit: 1000 });\nreturn list.map(c => c.author[0]);\n", 10)
	for b.Loop() {
		v := NewVault(d)
		v.Reserve(code)
		v.Exempt(code)
	}
}
