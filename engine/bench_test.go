package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// one is a run of a one-liner in a fresh sandbox, close included.
func one(b *testing.B, e *Engine, language string) {
	b.Helper()
	req := Request{Language: language, Code: "1+1"}
	if _, err := e.Run(context.Background(), req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Run(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFresh(b *testing.B) {
	b.Run("javascript", func(b *testing.B) { one(b, newReal(b, Config{Ready: -1}), JavaScript) })
	b.Run("python", func(b *testing.B) { one(b, newReal(b, Config{Ready: -1}), Python) })
}

func BenchmarkReady(b *testing.B) {
	b.Run("javascript", func(b *testing.B) { one(b, newReal(b, Config{}), JavaScript) })
	b.Run("python", func(b *testing.B) { one(b, newReal(b, Config{}), Python) })
}

// BenchmarkToolCall is one call after the other, with records in a file.
func BenchmarkToolCall(b *testing.B) {
	log, err := audit.Open(b.TempDir(), audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	reads := hostfns.Func("bench.get", func(context.Context, struct{}) (any, error) {
		return map[string]string{"text": strings.Repeat("x", 85)}, nil
	}, hostfns.ReadOnly())
	e := newReal(b, Config{Table: newTable(b, log, reads)})
	const n = 190
	for language, code := range map[string]string{
		JavaScript: "for (let i = 0; i < 190; i++) await tools.bench.get({})",
		Python:     "from tools import bench\nfor i in range(190): bench.get()",
	} {
		b.Run(language, func(b *testing.B) {
			req := Request{Language: language, Code: code}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Run(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/1000, "µs/call")
		})
	}
}

// fileJournal keeps the records of a run in a file, synced one by one.
type fileJournal struct{ f *os.File }

func (j fileJournal) Append(_ context.Context, record []byte) error {
	if _, err := j.f.Write(record); err != nil {
		return err
	}
	return j.f.Sync()
}

// BenchmarkDurable compares runs of 20 calls with and without a journal on disk.
func BenchmarkDurable(b *testing.B) {
	e := newReal(b, Config{})
	p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var s effects
	table := s.table(b, p)
	for _, calls := range []struct{ name, code string }{
		{"reads", "for (let i = 0; i < 20; i++) await tools.x.read({n: i})"},
		{"mixed", "for (let i = 0; i < 18; i++) await tools.x.read({n: i}); await tools.x.write({n: 1}); await tools.x.write({n: 2})"},
		{"writes", "for (let i = 0; i < 20; i++) await tools.x.write({n: i})"},
	} {
		for i, journal := range []Journal{nil, fileJournal{f}} {
			b.Run(calls.name+[]string{"", "/durable"}[i], func(b *testing.B) {
				off := false
				for b.Loop() {
					if _, err := e.Run(b.Context(), Request{Language: JavaScript, Code: calls.code, Table: table, Journal: journal, Cache: &off}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
