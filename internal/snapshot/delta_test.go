package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// working is an instance that has changed its memory, inside and beyond its image,
// and its globals.
func working(t testing.TB, rt wazero.Runtime, c wazero.CompiledModule, a *Allocator) api.Module {
	t.Helper()
	m := instance(t, rt, c, a)
	call(t, m, "grow", 3)
	call(t, m, "next")
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		call(t, m, "store", random.Uint64N(5*pageSize/4)*4, random.Uint64()>>32)
	}
	call(t, m, "store", 5*pageSize-4, 7)
	return m
}

func saved(t testing.TB, a *Allocator, m api.Module) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := a.WriteDelta(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func allMemory(m api.Module) []byte {
	b, _ := m.Memory().Read(0, m.Memory().Size())
	return bytes.Clone(b)
}

// An instance that reads the delta of another has its memory and its globals,
func TestAnInstanceGoesOnInAnother(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		other, err := New(func() []byte { _, image := split(t); return image }(), Copy)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		from := im.Memory(1 << 20)
		m := working(t, rt, c, from)
		for round := range 3 {
			delta := saved(t, from, m)
			for _, image := range []*Image{im, other} {
				to := image.Memory(1 << 20)
				woken := instance(t, rt, c, to)
				if err := to.ReadDelta(bytes.NewReader(delta), woken, 1<<20); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(allMemory(woken), allMemory(m)) {
					t.Fatalf("round %d: another memory", round)
				}
				if again := saved(t, to, woken); !bytes.Equal(again, delta) {
					t.Errorf("round %d: the delta of the copy has %d bytes, not %d", round, len(again), len(delta))
				}
				if image == other {
					woken.Close(context.Background())
					continue
				}
				m.Close(context.Background())
				m, from = woken, to
			}
			if n := call(t, m, "next"); n != int64(1002+round) {
				t.Errorf("round %d: the global is %d", round, n)
			}
			call(t, m, "store", uint64(round)*pageSize, 9)
		}
		m.Close(context.Background())
	})
}

func TestAnInstanceThatDidNothingHasASmallDelta(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		a := im.Memory(1 << 20)
		m := instance(t, rt, c, a)
		defer m.Close(context.Background())
		if n := len(saved(t, a, m)); n > 64 {
			t.Errorf("%d bytes", n)
		}
	})
}

// A delta that is cut, continued, or wrong about a length is refused.
func TestADeltaThatLiesIsRefused(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		a := im.Memory(1 << 20)
		m := working(t, rt, c, a)
		delta := saved(t, a, m)
		m.Close(context.Background())
		read := func(b []byte, limit uint64) error {
			a := im.Memory(1 << 20)
			m := instance(t, rt, c, a)
			defer m.Close(context.Background())
			a.DoNotReuse()
			return a.ReadDelta(bytes.NewReader(b), m, limit)
		}
		if err := read(delta, 1<<20); err != nil {
			t.Fatal(err)
		}
		head := []byte{5, 3, 1, 1, 1} // five pages, three globals
		numbers := func(n ...uint64) (b []byte) {
			for _, v := range n {
				b = binary.AppendUvarint(b, v)
			}
			return b
		}
		page := make([]byte, deltaPage)
		for name, b := range map[string][]byte{
			"empty":                         nil,
			"cut in a page":                 delta[:len(delta)-100],
			"without its end":               delta[:len(delta)-1],
			"with a byte more":              append(bytes.Clone(delta), 0),
			"smaller than the image":        append([]byte{1}, delta[1:]...),
			"larger than a memory":          append(numbers(1<<16), delta[1:]...),
			"of a size that overflows":      append(numbers(1<<63), delta[1:]...),
			"with more globals":             append([]byte{delta[0], 4}, delta[2:]...),
			"with a range that is too long": append(bytes.Clone(head), numbers(5*pageSize/deltaPage+1, 0)...),
			"with a range that overflows":   append(bytes.Clone(head), numbers(1<<63, 1<<63)...),
			"with a place beyond its end":   append(append(bytes.Clone(head), numbers(1, 5*pageSize/deltaPage)...), page...),
			"with a place that overflows":   append(append(bytes.Clone(head), numbers(1, 1<<63)...), page...),
		} {
			if err := read(b, 1<<20); !errors.Is(err, ErrDelta) {
				t.Errorf("a delta %s: %v", name, err)
			}
		}
		if err := read(delta, 4*pageSize); !errors.Is(err, ErrDelta) {
			t.Errorf("a delta beyond the limit: %v", err)
		}
	})
}

// FuzzDelta reads deltas that are made up. One that is accepted is the state that
// the instance then has.
func FuzzDelta(f *testing.F) {
	rt, c, im := bench(f, Auto)
	a := im.Memory(1 << 20)
	m := working(f, rt, c, a)
	f.Add(saved(f, a, m))
	m.Close(context.Background())
	f.Add([]byte{2, 3, 1, 1, 1, 0})
	f.Add([]byte{5, 3, 1, 1, 1, 1, 3, 0})
	f.Fuzz(func(t *testing.T, delta []byte) {
		a := im.Memory(1 << 20)
		a.DoNotReuse()
		m := instance(t, rt, c, a)
		defer m.Close(context.Background())
		if err := a.ReadDelta(bytes.NewReader(delta), m, 1<<20); err != nil {
			return
		}
		again := saved(t, a, m)
		b := im.Memory(1 << 20)
		b.DoNotReuse()
		woken := instance(t, rt, c, b)
		defer woken.Close(context.Background())
		if err := b.ReadDelta(bytes.NewReader(again), woken, 1<<20); err != nil || !bytes.Equal(allMemory(m), allMemory(woken)) {
			t.Fatalf("the state is not kept: %v", err)
		}
	})
}
