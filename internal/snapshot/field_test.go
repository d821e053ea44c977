package snapshot

import (
	"io"
	"strings"
	"testing"
)

type box struct {
	inner io.Reader
	n     int
}

func TestFieldReadsWhatHasTheNameAndTheType(t *testing.T) {
	b := &box{inner: strings.NewReader("x"), n: 7}
	if r, ok := Field[io.Reader](b, "inner"); !ok || r != b.inner {
		t.Errorf("inner = %v, %v", r, ok)
	}
	if n, ok := Field[int](b, "n"); !ok || n != 7 {
		t.Errorf("n = %d, %v", n, ok)
	}
}

func TestFieldRefusesWhatIsNotThere(t *testing.T) {
	b := &box{}
	if _, ok := Field[int](b, "inner"); ok {
		t.Error("another type")
	}
	if _, ok := Field[int](b, "m"); ok {
		t.Error("another name")
	}
	if _, ok := Field[int](*b, "n"); ok {
		t.Error("no pointer")
	}
	if _, ok := Field[int]((*box)(nil), "n"); ok {
		t.Error("nil")
	}
	if _, ok := Field[int](nil, "n"); ok {
		t.Error("nothing")
	}
}
