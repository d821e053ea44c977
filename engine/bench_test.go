package engine

import (
	"context"
	"testing"

	"github.com/wexec/wexec/audit"
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

func BenchmarkToolCall(b *testing.B) {
	e := newReal(b, Config{Table: newTable(b, audit.None(), add())})
	const n = 190
	req := Request{Language: JavaScript, Code: "for (let i = 0; i < 190; i++) await tools.math.add({a:1,b:2})"}
	for b.Loop() {
		if _, err := e.Run(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/call")
}
