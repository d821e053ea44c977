package snapshot

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestRestoredInstanceGoesOnWhereTheFirstRested(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		if im.Mapped() != (mode == Auto && canMap) {
			t.Errorf("mapped: %v", im.Mapped())
		}
		for range 3 {
			m := instance(t, rt, c, im.Memory(1<<20))
			if b, _ := m.Memory().Read(8, 5); string(b) != "hello" {
				t.Errorf("data: %q", b)
			}
			if n := call(t, m, "load", 100); n != 42 {
				t.Errorf("written at start: %d", n)
			}
			if n := call(t, m, "next"); n != 1001 {
				t.Errorf("i32 global: %d", n)
			}
			if n := call(t, m, "state"); n != -501 {
				t.Errorf("i64 and f64 globals: %d", n)
			}
			if m.ExportedFunction("_initialize") != nil {
				t.Error("it can be initialised again")
			}
			m.Close(context.Background())
		}
	})
}

func TestInstancesDoNotSeeEachOther(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 40 {
					m := instance(t, rt, c, im.Memory(1<<20))
					at, mine := uint64(4096+4*j), uint64(i*1000+j+1)
					if n := call(t, m, "load", at); n != 0 {
						t.Errorf("it begins with %d of another", n)
					}
					call(t, m, "store", at, mine)
					call(t, m, "grow", 2)
					call(t, m, "store", 3*pageSize, mine)
					if n := call(t, m, "load", at); uint64(n) != mine {
						t.Errorf("%d instead of %d", n, mine)
					}
					if n := call(t, m, "load", 100); n != 42 {
						t.Errorf("the image changed: %d", n)
					}
					m.Close(context.Background())
				}
			})
		}
		wg.Wait()
	})
}

func TestMemoryGrowsToItsLimitAndNoFurther(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		rt, c, im := bench(t, mode)
		a := im.Memory(10 * pageSize)
		m := instance(t, rt, c, a)
		defer m.Close(context.Background())
		call(t, m, "store", pageSize, 77)
		for pages := uint64(2); pages < 10; pages++ {
			if n := call(t, m, "grow", 1); n != int64(pages) {
				t.Fatalf("grow from %d: %d", pages, n)
			}
			if n := call(t, m, "load", pages*pageSize+8); n != 0 {
				t.Errorf("new memory holds %d", n)
			}
			call(t, m, "store", pages*pageSize+8, pages)
		}
		if a.Refused() || a.Peak() != 10*pageSize {
			t.Errorf("refused %v, peak %d", a.Refused(), a.Peak())
		}
		if n := int32(call(t, m, "grow", 1)); n != -1 || !a.Refused() {
			t.Errorf("beyond the limit: %d, refused %v", n, a.Refused())
		}
		if a.Peak() != 10*pageSize {
			t.Errorf("peak %d", a.Peak())
		}
		if n := call(t, m, "load", pageSize); n != 77 {
			t.Errorf("lost while it grew: %d", n)
		}
	})
}

func TestKernelsMemoryIsNotTheImages(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		_, image := split(t)
		im, err := New(image, mode)
		if err != nil {
			t.Fatal(err)
		}
		a := im.Memory(8 << 20)
		kernel := a.Allocate(KernelSize, 1<<32)
		k := kernel.Reallocate(KernelSize)
		main := a.Allocate(im.Size(), 100*pageSize)
		g := main.Reallocate(im.Size())
		if !zero(k) || string(g[8:13]) != "hello" {
			t.Errorf("kernel zero %v, guest %q", zero(k), g[8:13])
		}
		if kernel.Reallocate(4<<20) == nil || kernel.Reallocate(9<<20) != nil {
			t.Error("the kernel's memory is not held to the limit")
		}
		if a.Peak() != im.Size() {
			t.Errorf("peak %d counts the kernel", a.Peak())
		}
		if l := im.Live(); l.Memories != 2 || (l.Reserved > 0) != im.Mapped() || (l.Copies == 2) == im.Mapped() {
			t.Errorf("live %+v", l)
		}
		if err := im.Close(); !errors.Is(err, ErrInUse) {
			t.Errorf("closed in use: %v", err)
		}
		kernel.Free()
		main.Free()
		main.Free()
		if l := im.Live(); l != (Live{}) {
			t.Errorf("left %+v", l)
		}
		if err := im.Close(); err != nil {
			t.Error(err)
		}
		if a := im.Memory(1<<20).Allocate(im.Size(), 1<<20); a.Reallocate(im.Size()) != nil {
			t.Error("a closed image gives memory")
		}
	})
}

func TestBlankMemoryIsZero(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		ctx := context.Background()
		im := Empty(mode)
		rt := wazero.NewRuntime(ctx)
		defer rt.Close(ctx)
		c, err := rt.CompileModule(ctx, guest())
		if err != nil {
			t.Fatal(err)
		}
		a := im.Memory(3 * pageSize)
		m := instance(t, rt, c, a)
		if n := call(t, m, "load", 100); n != 0 {
			t.Errorf("it begins with %d", n)
		}
		if n := call(t, m, "grow", 1); n != 2 || a.Peak() != 3*pageSize {
			t.Errorf("grow: %d, peak %d", n, a.Peak())
		}
		if n := int32(call(t, m, "grow", 1)); n != -1 {
			t.Errorf("grow past the limit: %d", n)
		}
		m.Close(ctx)
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestNothingIsLeftBehind(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		count := func() (mappings, files int) {
			maps, err := os.ReadFile("/proc/self/maps")
			if err != nil {
				t.Skip("needs /proc")
			}
			fds, _ := os.ReadDir("/proc/self/fd")
			return strings.Count(string(maps), "\n"), len(fds)
		}
		run := func(rt wazero.Runtime, c wazero.CompiledModule, im *Image) {
			var live []interface{ Close(context.Context) error }
			for i := range 60 {
				m := instance(t, rt, c, im.Memory(64<<20))
				call(t, m, "grow", uint64(i))
				if i%3 == 0 { // one that traps
					if _, err := m.ExportedFunction("load").Call(context.Background(), 1<<31); err == nil {
						t.Error("no trap")
					}
				}
				live = append(live, m)
			}
			for _, m := range live {
				m.Close(context.Background())
			}
		}
		rt, c, im := bench(t, mode)
		run(rt, c, im)
		runtime.GC()
		mappings, files := count()
		for range 5 {
			run(rt, c, im)
		}
		runtime.GC()
		m, f := count()
		// Go's own heap may take a mapping or two in the meantime.
		if m > mappings+8 || f > files {
			t.Errorf("mappings %d → %d, files %d → %d", mappings, m, files, f)
		}
		if l := im.Live(); l != (Live{}) {
			t.Errorf("left %+v", l)
		}
	})
}

func TestHotPagesAreLearned(t *testing.T) {
	rt, c, im := bench(t, Auto)
	if !im.Mapped() {
		t.Skip("needs mapped memory")
	}
	for range 6 {
		m := instance(t, rt, c, im.Memory(1<<20))
		call(t, m, "store", 4096, 1)
		call(t, m, "store", 100_000, 1)
		m.Close(context.Background())
	}
	page := uint64(os.Getpagesize())
	if hot := im.HotBytes(); hot < page || hot > 4*page {
		t.Errorf("%d bytes are hot", hot)
	}
	m := instance(t, rt, c, im.Memory(1<<20))
	defer m.Close(context.Background())
	if n := call(t, m, "load", 100) + call(t, m, "load", 4096); n != 42 {
		t.Errorf("a prefaulted page is not the image's: %d", n)
	}
}

func TestImagesAreWholePages(t *testing.T) {
	if _, err := New(make([]byte, pageSize+1), Auto); err == nil {
		t.Error("taken")
	}
}

func TestMaxInstancesIsThere(t *testing.T) {
	if n, bound := MaxInstances(512 << 20); n < 100 {
		t.Errorf("room for %d: %s", n, bound)
	}
}

func BenchmarkMemory(b *testing.B) {
	for name, mode := range map[string]Mode{"auto": Auto, "copy": Copy} {
		b.Run(name, func(b *testing.B) {
			rt, c, im := bench(b, mode)
			for b.Loop() {
				m := instance(b, rt, c, im.Memory(64<<20))
				m.Close(context.Background())
			}
		})
	}
}

// Live counts the memories that are in use.
type Live struct {
	Memories int64 // linear memories
	Reserved int64 // bytes of address space
	Copies   int64 // memories on Go's heap
}

// Live returns the memories that are not freed yet.
func (im *Image) Live() Live {
	return Live{Memories: im.memories.Load(), Reserved: im.reserved.Load(), Copies: im.copies.Load()}
}

// HotBytes is how many bytes of the image are prefaulted for each new instance:
// those that all of the first instances wrote to.
func (im *Image) HotBytes() uint64 {
	n := uint64(0)
	for _, s := range im.hot.spans() {
		n += s.to - s.from
	}
	return n
}
