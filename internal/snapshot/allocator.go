package snapshot

import (
	"fmt"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// Allocator makes the linear memories of one instantiation. Put it into the
// context with wazero's WithMemoryAllocator, and use it once.
type Allocator struct {
	image   *Image
	limit   uint64
	late    bool // the guest's memory comes with Bind
	given   bool // the image has been given to a memory
	guest   *memory
	refused atomic.Bool
	spoiled atomic.Bool
	peak    atomic.Uint64
}

// Memory returns the allocator of one new instance, whose memory may grow to
// limit bytes; a limit below the image's size is taken for that size. The
// address space for it is reserved at once, the memory itself comes with use.
//
// The memory that asks for the image's size gets the image. Any other, such as
// that of Extism's kernel, starts with zeros, under the same limit.
func (im *Image) Memory(limit uint64) *Allocator {
	return &Allocator{image: im, limit: max(limit, im.size)}
}

// Allocate makes the next memory.
func (a *Allocator) Allocate(capacity, maximum uint64) experimental.LinearMemory {
	im := a.image
	im.mu.RLock()
	defer im.mu.RUnlock()
	m := &memory{from: a}
	guest := im.size == 0 || capacity == im.size && !a.given
	m.image = guest && im.size > 0
	a.given = a.given || m.image
	if guest {
		a.guest = m
		a.peak.Store(0)
	}
	reserve := min(maximum, max(a.limit, capacity))
	if m.late = a.late && m.image && im.mapped && im.original() != nil; m.late {
		m.max = reserve
	} else if !im.mapped || m.reserve(reserve) != nil {
		m.copy(reserve)
	}
	im.memories.Add(1)
	return m
}

// Late has the guest's memory come with [Allocator.Bind]. Until then the
// instance shows the image and cannot write to it; it must not run. So it takes
// no memory while it waits to be used. [CanBind] tells whether that works.
func (a *Allocator) Late() { a.late = true }

// Bind gives a waiting instance its memory. It does nothing for an instance
// that has it.
func (a *Allocator) Bind(instance any) error {
	im, m := a.image, a.guest
	if m == nil || !m.late {
		return nil
	}
	im.mu.RLock()
	defer im.mu.RUnlock()
	if err := m.reserve(m.max); err != nil {
		return fmt.Errorf("map a memory: %w", err)
	}
	m.late = false
	return rebase(instance, m.base[:m.size:m.size])
}

// Refused reports whether a memory was not allowed to grow: the limit was
// reached, or the machine had no more.
func (a *Allocator) Refused() bool { return a.refused.Load() }

// Spoil says that what ran did not come to its end: its memories are given
// back when they are freed, and serve nobody after it.
func (a *Allocator) Spoil() { a.spoiled.Store(true) }

// Peak is the largest size in bytes that the guest's memory has had.
func (a *Allocator) Peak() uint64 { return a.peak.Load() }

// memory is one linear memory: a reservation of address space, or a slice.
type memory struct {
	from  *Allocator
	image bool // it begins with the image
	late  bool // it has no pages yet

	base []byte // the whole of the reservation, or the slice up to its capacity
	max  uint64
	heap bool
	pool *[]byte // what goes back to the image's pool
	size uint64
	huge bool    // large pages were asked for
	was  uint64  // bytes beyond the image that it came with, cleared
	kept uint64  // and that stay in it for the next
	ages []uint8 // by page of the image: runs since one wrote to it
	gone bool
}

// copy is the portable way: a slice that grows.
func (m *memory) copy(limit uint64) {
	im := m.from.image
	m.heap, m.max = true, limit
	im.copies.Add(1)
	if !m.image {
		return
	}
	m.pool, _ = im.pool.Get().(*[]byte)
	if m.pool == nil {
		b := make([]byte, im.size)
		m.pool = &b
	}
	m.base = *m.pool
	if im.fill(m.base) != nil {
		m.max = 0 // not even the first size is granted
	}
}

// Reallocate gives the memory size bytes, or nil where it may not have them.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.max || m.gone {
		m.from.refused.Store(true)
		return nil
	}
	if m.late {
		if m.size > 0 || size != m.from.image.size {
			return nil // nothing may run in it yet
		}
		m.size = size
		m.from.peak.Store(size)
		return m.from.image.original()
	}
	if m.heap && size > uint64(len(m.base)) {
		// Larger than asked for, so that a guest that grows page by page is
		// not copied each time.
		room := size
		if m.size > 0 {
			room = min(m.max, size+size/4)
		}
		b := make([]byte, room)
		copy(b, m.base[:m.size])
		m.giveBack()
		m.base = b
	}
	if !m.heap {
		m.grown(size)
	}
	m.size = size
	if m == m.from.guest && size > m.from.peak.Load() {
		m.from.peak.Store(size)
	}
	return m.base[:size:size]
}

// giveBack puts a slice of the image's size into the pool.
func (m *memory) giveBack() {
	if m.pool != nil {
		m.from.image.pool.Put(m.pool)
		m.pool = nil
	}
}

// Free ends the memory. Slices of it must not be used any more.
func (m *memory) Free() {
	if m.gone {
		return
	}
	m.gone = true
	im := m.from.image
	switch {
	case m.late:
	case m.heap:
		m.giveBack()
		im.copies.Add(-1)
	default:
		if m.image {
			im.hot.learn(m.base[:im.size])
		}
		im.reserved.Add(-int64(len(m.base)))
		if !im.keep(m) {
			unmap(m.base)
		}
	}
	m.base = nil
	im.memories.Add(-1)
}
