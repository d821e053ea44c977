package engine

import "testing"

func BenchmarkTinyFresh(b *testing.B) {
	e := newTiny(b, Config{Ready: -1})
	for b.Loop() {
		if _, err := tiny(b, e, "v 2"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTinyReady(b *testing.B) {
	e := newTiny(b, Config{})
	for b.Loop() {
		if _, err := tiny(b, e, "v 2"); err != nil {
			b.Fatal(err)
		}
	}
}
