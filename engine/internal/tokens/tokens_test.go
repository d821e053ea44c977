package tokens

import (
	"encoding/json"
	"fmt"
	"go/build"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

// offBy is how far the estimates of some texts are from the exact counts.
func offBy(t *testing.T, exact *codec.Codec, texts ...string) float64 {
	t.Helper()
	sum, want := int64(0), 0
	for _, text := range texts {
		n, err := exact.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		sum += Estimate([]byte(text))
		want += n
	}
	return float64(sum)/float64(want) - 1
}

// What tools said in the jobs of internal/tools/compare: testdata/tokens has parts of
// it, one file for each job.
func TestTokenEstimatesOfTheJobsAreWithinFivePercent(t *testing.T) {
	exact := codec.NewO200kBase()
	files, err := filepath.Glob("testdata/tokens/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		off := offBy(t, exact, string(text))
		t.Logf("%-30s %+.1f %%", f, 100*off)
		if math.Abs(off) > 0.05 {
			t.Errorf("%s is off by %+.1f %%", f, 100*off)
		}
	}
}

// The costs were not fitted over these texts.
func TestTokenEstimatesOfOtherTextsAreWithinEightPercent(t *testing.T) {
	exact := codec.NewO200kBase()
	texts := otherTexts()
	for kind, pattern := range map[string]string{
		"licence": "../../../LICENSE", "json files": "../../../wasm-modules/manifest.json", "shell": "../../../wasm-modules/*/*.sh",
		"go": filepath.Join(build.Default.GOROOT, "src", "net", "http", "[r-t]*.go"),
	} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil {
				texts[kind] = append(texts[kind], string(data))
			}
		}
	}
	for kind, list := range texts {
		off := offBy(t, exact, list...)
		t.Logf("%-12s %+.1f %%", kind, 100*off)
		if math.Abs(off) > 0.08 {
			t.Errorf("%s is off by %+.1f %%", kind, 100*off)
		}
	}
}

// otherTexts are answers such as tools give, made up.
func otherTexts() map[string][]string {
	r := rand.New(rand.NewPCG(1, 2))
	one := func(words string) string { list := strings.Fields(words); return list[r.IntN(len(list))] }
	name := func() string {
		return one("Ada Grace Edsger Priya Chloe Carlos Yuki Fatima") + " " + one("Hopper Dijkstra Okafor Nguyen Silva Petrov Tanaka")
	}
	thing := func() string {
		return one("invoice shipment warehouse replica deployment milestone session dashboard refund permission certificate")
	}
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%x", r.IntN(16))
		}
		return b.String()
	}
	var rows []map[string]any
	lines := map[string]*strings.Builder{}
	add := func(kind, format string, a ...any) {
		if lines[kind] == nil {
			lines[kind] = &strings.Builder{}
		}
		fmt.Fprintf(lines[kind], format+"\n", a...)
	}
	for i := range 200 {
		rows = append(rows, map[string]any{"accountId": hex(24), "displayName": name(), "active": i%3 > 0, "groups": []string{thing(), thing()},
			"lastLogin": fmt.Sprintf("2025-%02d-%02dT%02d:15:09Z", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24)), "score": r.Float64(), "manager": nil})
		add("syslog", "Mar %2d %02d:%02d:%02d host%d %sd[%d]: cannot reach the %s of %s (code %d)", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), i%9, thing(), r.IntN(9999), thing(), name(), r.IntN(255))
		add("json lines", `{"level":"info","ts":%.3f,"caller":"%s/%s.go:%d","msg":"%s was updated","request_id":"%s","duration_ms":%d}`, 1.7e9+r.Float64()*1e8, thing(), thing(), r.IntN(500), thing(), hex(16), r.IntN(999))
		add("csv", `%d;"%s";%s;%.4f;%d`, r.IntN(100000), name(), thing(), r.Float64(), r.IntN(1e6))
		add("sql", "INSERT INTO %ss (id, owner, total) VALUES (%d, '%s', %.2f);", thing(), r.IntN(99999), name(), 500*r.Float64())
		add("html", `<tr class="row"><td><a href="/%s/%d">%s</a></td><td>%s</td></tr>`, thing(), r.IntN(999), name(), thing())
		add("ids", "%s-%s-%s-%s-%s %s", hex(8), hex(4), hex(4), hex(4), hex(12), hex(40))
	}
	out := map[string][]string{}
	compact, _ := json.Marshal(rows)
	wide, _ := json.MarshalIndent(rows, "", "    ")
	out["json"], out["wide json"] = []string{string(compact)}, []string{string(wide)}
	for kind, b := range lines {
		out[kind] = []string{b.String()}
	}
	return out
}

// The table of pairs is exact.
func TestPairsOfMarksAreOneTokenWhereTheTableSaysSo(t *testing.T) {
	exact := codec.NewO200kBase()
	for a := byte('!'); a < 0x7f; a++ {
		for b := byte('!'); b < 0x7f; b++ {
			if !isMark(a) || !isMark(b) {
				continue
			}
			n, err := exact.Count(string([]byte{a, b}))
			if err != nil || float64(n) != marks([]byte{a, b}) {
				t.Errorf("%c%c has %d tokens, not %v (%v)", a, b, n, marks([]byte{a, b}), err)
			}
		}
	}
}

func TestLargeTextsAreJudgedBySamples(t *testing.T) {
	part := `{"id": 17, "name": "Ada Lovelace", "note": "a few words of text"},` + "\n"
	small := Estimate([]byte(strings.Repeat(part, 100)))
	large := Estimate([]byte(strings.Repeat(part, 100_000)))
	if ratio := float64(large) / float64(small) / 1000; ratio < 0.97 || ratio > 1.03 {
		t.Errorf("%d for 100 parts and %d for 100,000", small, large)
	}
	for _, text := range []string{"", "\xff\xfe", "€", "日本語", "1", " ", "\n\n", "it's", "we'll", "'", "a'", "\x00\x01\x02"} {
		if n := Estimate([]byte(text)); n < 0 || n > int64(len(text))+1 {
			t.Errorf("%q has %d tokens", text, n)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte(`{"a": [1, "two's"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := Estimate(text); n < 0 || n > 3*int64(len(text))+1 {
			t.Errorf("%d tokens for %d bytes", n, len(text))
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := []byte(otherTexts()["json"][0])[:16<<10]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Estimate(text)
	}
}
