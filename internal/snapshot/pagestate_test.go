//go:build linux && (amd64 || arm64)

package snapshot

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoStateOfAPageHidesWhatWasWritten has runs leave their pages in whatever
// state a kernel knows: large, cold, paged out, collapsed, dropped, only read,
// locked, adjacent to a page table of another state. Each next run looks
// for the pattern of the one before.
func TestNoStateOfAPageHidesWhatWasWritten(t *testing.T) {
	const reserve = 40 << 20
	im, want := scattered(t, 40)
	rng := rand.New(rand.NewPCG(7, 11))
	// Advice that a kernel does not know changes nothing.
	states := []int{unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLD, unix.MADV_PAGEOUT, unix.MADV_COLLAPSE,
		unix.MADV_POPULATE_READ, unix.MADV_POPULATE_WRITE, unix.MADV_WILLNEED, unix.MADV_SEQUENTIAL, unix.MADV_FREE, unix.MADV_DONTNEED}
	rounds, again, at := 400, 0, map[*byte]bool{}
	if testing.Short() {
		rounds = 120
	}
	sum := 0
	for round := range rounds {
		m := im.Memory(reserve).Allocate(im.Size(), reserve)
		b := m.Reallocate(im.Size())
		if at[&b[0]] {
			again++
		}
		at[&b[0]] = true
		size := im.Size() + uint64(rng.IntN(30))*pageSize
		if round%7 == 3 {
			size = im.Size() + 32<<20 // large pages are asked for
		}
		if !bytes.Equal(b, want) {
			t.Fatalf("round %d begins with another's image", round)
		}
		b = m.Reallocate(size)
		if !zero(b[len(want):]) {
			t.Fatalf("round %d begins with another's heap", round)
		}
		b[5000], b[70000] = 1, byte(round)
		for range 1 + rng.IntN(12) {
			from := rng.IntN(len(b)/4096) * 4096
			part := b[from:min(len(b), from+(1+rng.IntN(64))*4096)]
			switch rng.IntN(3) {
			case 0:
				for i := range part {
					part[i] = 0xa7
				}
			case 1:
				sum += int(part[len(part)/2]) // it is only read: the zero page, or the file's
			}
			_ = unix.Madvise(part, states[rng.IntN(len(states))])
			part[rng.IntN(len(part))] = 0xa7
		}
		m.Free()
	}
	if again == 0 {
		t.Skip("needs PAGEMAP_SCAN, Linux 6.7")
	}
	if again < rounds/3 {
		t.Errorf("%d of %d began on a memory that had served (%d)", again, rounds, sum)
	}
}
