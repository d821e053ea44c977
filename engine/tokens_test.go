package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Estimates are held against the exact tokenizer over texts of the kinds that
// programs see: sources, documents, JSON, tables and logs.
func TestTokenEstimatesAreNearTheExactCount(t *testing.T) {
	if testing.Short() {
		t.Skip("building the exact tokenizer takes a while")
	}
	texts := map[string][]string{}
	for kind, pattern := range map[string]string{"go": "*.go", "prose": "../docs/*.md", "python": "../guests/python/*.py", "javascript": "../guests/javascript/*.js"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && len(data) > 2000 {
				texts[kind] = append(texts[kind], string(data[:min(len(data), 20000)]))
			}
		}
	}
	var rows []map[string]any
	var logs, table strings.Builder
	for i := range 150 {
		rows = append(rows, map[string]any{"sha": fmt.Sprintf("%040x", i*2654435761), "author": map[string]any{"name": "Grace Hopper", "email": fmt.Sprintf("g%d@example.com", i)},
			"message": "fix the parser when the input is empty", "additions": i * 37 % 500, "date": fmt.Sprintf("2026-03-%02dT10:%02d:00Z", 1+i%28, i%60)})
		fmt.Fprintf(&logs, "2026-11-21T%02d:%02d:17.%03dZ INFO http request method=GET path=/api/v1/orders status=%d dur=%dms\n", i%24, i%60, i*7%1000, 200+i%5, i*13%900)
		fmt.Fprintf(&table, "%d,Ada,%.2f,%d,open\n", 1000+i, float64(i)*3.7, i*7919%100000)
	}
	compact, _ := json.Marshal(rows)
	wide, _ := json.MarshalIndent(rows, "", "  ")
	texts["json"] = []string{string(compact), string(wide)}
	texts["logs"], texts["table"] = []string{logs.String()}, []string{table.String()}
	exact := codec.NewO200kBase()
	all, n := 0.0, 0
	for kind, list := range texts {
		sum, want := int64(0), 0
		for _, text := range list {
			c, err := exact.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			sum += tokens([]byte(text))
			want += c
		}
		off := float64(sum)/float64(want) - 1
		t.Logf("%-10s %+.1f %%", kind, 100*off)
		if math.Abs(off) > 0.12 {
			t.Errorf("%s is off by %.0f %%", kind, 100*off)
		}
		all += math.Abs(off)
		n++
	}
	if mean := all / float64(n); mean > 0.06 {
		t.Errorf("estimates are off by %.1f %% on average", 100*mean)
	}
}

func TestLargeTextsAreJudgedBySamples(t *testing.T) {
	part := `{"id": 17, "name": "Ada Lovelace", "note": "a few words of text"},` + "\n"
	small := tokens([]byte(strings.Repeat(part, 100)))
	large := tokens([]byte(strings.Repeat(part, 100_000)))
	if ratio := float64(large) / float64(small) / 1000; ratio < 0.97 || ratio > 1.03 {
		t.Errorf("%d for 100 parts and %d for 100,000", small, large)
	}
	for _, text := range []string{"", "\xff\xfe", "€", "日本語", "1", " ", "\n\n"} {
		if n := tokens([]byte(text)); n < 0 || n > int64(len(text))+1 {
			t.Errorf("%q has %d tokens", text, n)
		}
	}
}
