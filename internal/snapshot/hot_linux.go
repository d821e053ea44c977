//go:build linux && (amd64 || arm64)

package snapshot

import (
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hotPages learns from the first instances which pages of an image every
// instance writes to, and copies them at once for later ones, which costs less
// than a page fault for each.
type hotPages struct {
	known atomic.Pointer[[]span] // set once, after hotSamples instances

	mu    sync.Mutex
	seen  int
	pages map[uint64]bool // written to by all instances so far
}

const (
	hotSkip    = 1          // instances before learning starts, so that a process with one run pays nothing
	hotSamples = 3          // instances to learn from
	hotMax     = 1200 << 10 // bytes
	hotGap     = 1          // cold pages between two hot ones that are cheaper to include
)

// learned reports whether the hot pages are known.
func (h *hotPages) learned() bool { return h.known.Load() != nil }

func (h *hotPages) spans() []span {
	if p := h.known.Load(); p != nil {
		return *p
	}
	return nil
}

// prefault copies the hot pages of a fresh mapping.
func (h *hotPages) prefault(image []byte) {
	for _, s := range h.spans() {
		// Kernels before 5.14 do not support it: pages fault later.
		if unix.Madvise(image[s.from:s.to], unix.MADV_POPULATE_WRITE) != nil {
			return
		}
	}
}

// learn records the pages that an ended instance wrote to.
func (h *hotPages) learn(image []byte) {
	if h.known.Load() != nil || len(image) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known.Load() != nil {
		return
	}
	if h.seen++; h.seen <= hotSkip {
		return
	}
	written, ok := writtenPages(image)
	if !ok {
		h.known.Store(&[]span{})
		return
	}
	if h.pages == nil {
		h.pages = written
	} else {
		for p := range h.pages {
			if !written[p] {
				delete(h.pages, p)
			}
		}
	}
	if h.seen == hotSkip+hotSamples {
		spans := hotSpans(h.pages, uint64(len(image)), uint64(os.Getpagesize()))
		h.known.Store(&spans)
		h.pages = nil
	}
}

// hotSpans joins pages into ranges.
func hotSpans(pages map[uint64]bool, size, page uint64) []span {
	spans := []span{}
	total := uint64(0)
	for at := uint64(0); at < size; at += page {
		if !pages[at/page] {
			continue
		}
		n := len(spans)
		if n > 0 && at-spans[n-1].to <= hotGap*page {
			total += at + page - spans[n-1].to
			spans[n-1].to = at + page
		} else {
			total += page
			spans = append(spans, span{at, at + page})
		}
		if total >= hotMax {
			break
		}
	}
	return spans
}

// writtenPages returns the pages of a private file mapping that were written to:
// those that are present and not backed by the file.
func writtenPages(image []byte) (map[uint64]bool, bool) {
	page := uint64(os.Getpagesize())
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, false
	}
	defer f.Close()
	entries := make([]byte, uint64(len(image))/page*8)
	at := uint64(uintptr(unsafe.Pointer(&image[0])))
	if _, err := f.ReadAt(entries, int64(at/page*8)); err != nil {
		return nil, false
	}
	const present, ofFile = 1 << 63, 1 << 61
	written := map[uint64]bool{}
	for i := uint64(0); i*8 < uint64(len(entries)); i++ {
		if e := binary.LittleEndian.Uint64(entries[i*8:]); e&present != 0 && e&ofFile == 0 {
			written[i] = true
		}
	}
	return written, true
}
