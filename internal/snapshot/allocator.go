package snapshot

import (
	"fmt"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// Allocator makes the linear memories of one instantiation. Pass it in the
// context with wazero's WithMemoryAllocator. It can be used once.
type Allocator struct {
	image    *Image
	limit    uint64
	deferred bool // Bind makes the guest's memory
	given    bool // a memory has the image
	guest    *memory
	refused  atomic.Bool
	noReuse  atomic.Bool
	peak     atomic.Uint64
}

// Memory returns the allocator of one new instance, whose memory may grow to
// limit bytes, or to the size of the image if that is larger. The
// address space is reserved at once; memory is used when it is written to.
//
// A memory of the image's size starts with the image. Any other, such as
// the one of Extism's kernel, starts with zeros and has the same limit.
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
	if m.deferred = a.deferred && m.image && im.mapped && im.pristine() != nil; m.deferred {
		m.max = reserve
	} else if !im.mapped || m.reserve(reserve) != nil {
		m.copy(reserve)
	}
	im.memories.Add(1)
	return m
}

// DeferBinding delays the guest's memory until [Allocator.Bind]. Until then the
// instance sees the image read-only and must not run. A waiting instance uses
// no memory. [CanBind] reports whether this works.
func (a *Allocator) DeferBinding() { a.deferred = true }

// Bind gives an instance its deferred memory. It does nothing for an instance
// that has its memory.
func (a *Allocator) Bind(instance any) error {
	im, m := a.image, a.guest
	if m == nil || !m.deferred {
		return nil
	}
	im.mu.RLock()
	defer im.mu.RUnlock()
	if err := m.reserve(m.max); err != nil {
		return fmt.Errorf("map a memory: %w", err)
	}
	m.deferred = false
	return rebase(instance, m.base[:m.size:m.size])
}

// Refused reports whether a memory could not grow: the limit was
// reached, or the machine had no memory left.
func (a *Allocator) Refused() bool { return a.refused.Load() }

// DoNotReuse marks the memories as unfit for other instances, because the run
// did not end normally: they are unmapped when they are freed.
func (a *Allocator) DoNotReuse() { a.noReuse.Store(true) }

// Peak is the largest size in bytes that the guest's memory has had.
func (a *Allocator) Peak() uint64 { return a.peak.Load() }

// memory is one linear memory: a reservation of address space, or a slice.
type memory struct {
	from     *Allocator
	image    bool // it starts with the image
	deferred bool // it has no pages yet

	base  []byte // the whole reservation, or the slice up to its capacity
	max   uint64
	heap  bool
	pool  *[]byte // returned to the image's pool
	size  uint64
	huge  bool    // large pages were requested
	was   uint64  // cleared bytes beyond the image at the start
	kept  uint64  // bytes beyond the image that stay for the next instance
	ages  []uint8 // by page of the image: runs since the last write
	freed bool

	overlaid bool // it has the pages of a [State]
}

// copy makes the memory a slice that grows, on every platform.
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
		m.max = 0 // even the first allocation fails
	}
}

// Reallocate resizes the memory, or returns nil if it cannot.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.max || m.freed {
		m.from.refused.Store(true)
		return nil
	}
	if m.deferred {
		if m.size > 0 || size != m.from.image.size {
			return nil // the instance must not run yet
		}
		m.size = size
		m.from.peak.Store(size)
		return m.from.image.pristine()
	}
	if m.heap && size > uint64(len(m.base)) {
		// Larger than requested, so that a guest that grows page by page is
		// not copied each time.
		room := size
		if m.size > 0 {
			room = min(m.max, size+size/4)
		}
		b := make([]byte, room)
		copy(b, m.base[:m.size])
		m.release()
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

// release returns a slice of the image's size to the pool.
func (m *memory) release() {
	if m.pool != nil {
		m.from.image.pool.Put(m.pool)
		m.pool = nil
	}
}

// Free releases the memory. Slices of it must not be used any more.
func (m *memory) Free() {
	if m.freed {
		return
	}
	m.freed = true
	im := m.from.image
	switch {
	case m.deferred:
	case m.heap:
		m.release()
		im.copies.Add(-1)
	default:
		if m.image && !m.overlaid {
			im.hot.learn(m.base[:im.size])
		}
		im.reserved.Add(-int64(len(m.base)))
		if !im.recycle(m) {
			unmap(m.base)
		}
	}
	m.base = nil
	im.memories.Add(-1)
}
