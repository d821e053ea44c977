package engine

import (
	"context"
	"testing"
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
