package snapshot

import (
	"bytes"
	"context"
	"testing"
)

// Instances that go on from a state have its memory and its globals, see nothing of
// each other, and can be saved; those after them start with the image.
func TestInstancesGoOnFromAState(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		from := im.Memory(1 << 20)
		m := working(t, rt, c, from)
		want, delta := allMemory(m), saved(t, from, m)
		state, err := from.Freeze(m)
		if err != nil {
			t.Fatal(err)
		}
		m.Close(context.Background())
		for round := range 6 {
			one, two := im.Memory(1<<20), im.Memory(1<<20)
			a, b := instance(t, rt, c, one), instance(t, rt, c, two)
			if one.GoOn(state, a) != nil || two.GoOn(state, b) != nil {
				t.Fatal("it cannot go on")
			}
			if round == 5 {
				if err := state.Close(); err != nil {
					t.Error(err)
				}
			}
			call(t, a, "store", 8, 77)
			if !bytes.Equal(allMemory(b), want) || !bytes.Equal(saved(t, two, b), delta) {
				t.Error("another memory")
			}
			if n := call(t, a, "next"); n != 1002 {
				t.Errorf("the global is %d", n)
			}
			a.Close(context.Background())
			b.Close(context.Background())
			fresh := instance(t, rt, c, im.Memory(1<<20))
			if text, _ := fresh.Memory().Read(8, 5); string(text) != "hello" {
				t.Errorf("a fresh instance begins with %q", text)
			}
			if n := call(t, fresh, "next"); n != 1001 {
				t.Errorf("a fresh instance's global is %d", n)
			}
			fresh.Close(context.Background())
		}
		late := im.Memory(1 << 20)
		if late.GoOn(state, instance(t, rt, c, late)) == nil && mode == Auto && canMap {
			t.Error("it goes on from a state that is closed")
		}
	})
}
