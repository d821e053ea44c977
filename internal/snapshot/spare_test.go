//go:build linux && (amd64 || arm64)

package snapshot

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero"
)

// scattered is an image of some pages with something in most of them.
func scattered(t testing.TB, pages int) (*Image, []byte) {
	t.Helper()
	bytes := make([]byte, pages*pageSize)
	for i := 0; i < len(bytes); i += 97 {
		if i/4096%5 != 0 {
			bytes[i] = byte(i)
		}
	}
	im, err := New(bytes, Auto)
	if err != nil {
		t.Fatal(err)
	}
	if !im.Mapped() {
		t.Skip("needs mapped memory")
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	return im, bytes
}

// use writes to a memory as f says, after it has grown to size.
func use(t testing.TB, im *Image, size uint64, f func(b []byte)) {
	t.Helper()
	m := im.Memory(64<<20).Allocate(im.Size(), 64<<20)
	if m.Reallocate(im.Size()) == nil {
		t.Fatal("no memory")
	}
	b := m.Reallocate(size)
	if b == nil {
		t.Fatal("it does not grow")
	}
	f(b)
	m.Free()
}

func TestWhatARunWroteIsGoneForTheNext(t *testing.T) {
	const reserve = 24 << 20
	im, want := scattered(t, 40)
	rng := rand.New(rand.NewPCG(1, 2))
	again, at := 0, map[*byte]bool{}
	for round := range 120 {
		size := im.Size()
		switch round % 5 {
		case 1:
			size += uint64(rng.IntN(20)) * pageSize
		case 2:
			size += uint64(rng.IntN(330)) * pageSize // some of it is more than is kept
		}
		m := im.Memory(reserve).Allocate(im.Size(), reserve)
		b := m.Reallocate(im.Size())
		if at[&b[0]] {
			again++
		}
		at[&b[0]] = true
		if !bytes.Equal(b, want) {
			t.Fatalf("round %d begins with another's image", round)
		}
		b = m.Reallocate(size)
		if !zero(b[len(want):]) {
			t.Fatalf("round %d begins with another's heap", round)
		}
		b[5000], b[70000] = 1, byte(round) // what every run writes to
		for range rng.IntN(40) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		if rng.IntN(10) == 0 { // a run that writes everywhere
			for i := 0; i < len(b); i += 4096 {
				b[i] ^= 0xff
			}
		}
		m.Free()
	}
	if again == 0 {
		t.Skip("needs PAGEMAP_SCAN, Linux 6.7")
	}
	if again < 80 {
		t.Errorf("%d of 120 began on a memory that had served", again)
	}
}

// warmed is an image with one memory that has served.
func warmed(t testing.TB, writes func(b []byte)) *Image {
	im, _ := scattered(t, 40)
	for range hotSkip + hotSamples + 2 {
		use(t, im, im.Size(), writes)
	}
	if len(im.spares.free) == 0 {
		t.Skip("needs PAGEMAP_SCAN, Linux 6.7")
	}
	return im
}

// faults is how many page faults f takes.
func faults(f func()) int64 {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &before)
	f()
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &after)
	return after.Minflt - before.Minflt
}

func TestKeptMemoryTakesNoFaultsAndNoMappings(t *testing.T) {
	writes := func(b []byte) {
		for i := range 30 {
			b[i*8192]++
		}
	}
	im := warmed(t, writes)
	mappings := func() int {
		maps, _ := os.ReadFile("/proc/self/maps")
		return strings.Count(string(maps), "\n")
	}
	before := mappings()
	least := int64(1 << 62)
	for range 20 {
		least = min(least, faults(func() { use(t, im, im.Size(), writes) }))
	}
	if least > 1 {
		t.Errorf("a run on a kept memory takes %d page faults", least)
	}
	if now := mappings(); now > before+2 {
		t.Errorf("mappings %d → %d", before, now)
	}
}

// What few pages a run in twenty writes to is not given back in between.
func TestPagesThatSomeRunsWriteToStay(t *testing.T) {
	often := func(b []byte) { b[0]++ }
	seldom := func(b []byte) {
		for i := range 30 {
			b[i*8192]++
		}
	}
	im := warmed(t, often)
	use(t, im, im.Size(), seldom)
	least := int64(1 << 62)
	for range 10 {
		for range 20 {
			use(t, im, im.Size(), often)
		}
		least = min(least, faults(func() { use(t, im, im.Size(), seldom) }))
	}
	if least > 1 {
		t.Errorf("a run that writes to them again takes %d page faults", least)
	}
}

func TestSpoiledMemoryServesNobody(t *testing.T) {
	im := warmed(t, func(b []byte) { b[0]++ })
	im.Trim()
	a := im.Memory(64 << 20)
	m := a.Allocate(im.Size(), 64<<20)
	m.Reallocate(im.Size())
	a.DoNotReuse()
	m.Free()
	if n := len(im.spares.free); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

func TestKeptMemoryIsBounded(t *testing.T) {
	im := warmed(t, func(b []byte) { b[0]++ })
	var live []interface{ Free() }
	for range 200 {
		m := im.Memory(64<<20).Allocate(im.Size(), 64<<20)
		m.Reallocate(im.Size() + 8<<20)[im.Size()] = 1
		live = append(live, m)
	}
	for _, m := range live {
		m.Free()
	}
	if n := len(im.spares.free); n == 0 || n > im.spares.most {
		t.Errorf("%d are kept", n)
	}
	if im.spares.grown > growthAll {
		t.Errorf("%d bytes of heaps are kept", im.spares.grown)
	}
	if l := im.Live(); l != (Live{}) {
		t.Errorf("live %+v", l)
	}
	im.Trim()
	if n := len(im.spares.free); n != 0 || im.spares.grown != 0 {
		t.Errorf("%d are left, with %d bytes", n, im.spares.grown)
	}
}

func TestLateMemoryIsTheImageUntilItIsBound(t *testing.T) {
	rt, c, im := bench(t, Auto)
	if !im.Mapped() {
		t.Skip("needs mapped memory")
	}
	for _, made := range []string{"bound", "never bound"} {
		a := im.Memory(1 << 20)
		a.DeferBinding()
		m := instance(t, rt, c, a)
		if !CanBind(m) {
			t.Fatal("wazero keeps its memory elsewhere")
		}
		if b, _ := m.Memory().Read(8, 5); string(b) != "hello" {
			t.Errorf("%s: data %q", made, b)
		}
		if l := im.Live(); l.Reserved != 0 || l.Memories != 1 {
			t.Errorf("%s: it waits with %+v", made, l)
		}
		if made == "bound" {
			if err := a.Bind(m); err != nil {
				t.Fatal(err)
			}
			call(t, m, "store", 4096, 77)
			if n := call(t, m, "load", 4096) + call(t, m, "load", 100); n != 77+42 {
				t.Errorf("compiled code sees %d", n)
			}
			if n := call(t, m, "grow", 2); n != 2 {
				t.Errorf("it grows from %d", n)
			}
			call(t, m, "store", 3*pageSize, 5)
			if n := call(t, m, "load", 3*pageSize); n != 5 {
				t.Errorf("what it grew by holds %d", n)
			}
			if err := a.Bind(m); err != nil {
				t.Errorf("a second time: %v", err)
			}
		}
		m.Close(context.Background())
	}
	if l := im.Live(); l != (Live{}) {
		t.Errorf("left %+v", l)
	}
	if CanBind(nil) || CanBind(wazero.NewModuleConfig()) {
		t.Error("anything can be bound")
	}
}
