package sandbox

import (
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
)

// InstanceShare is what an instance is charged before it grows: the pages of
// its image that it writes to.
const InstanceShare = 1 << 20

// Ledger counts the memory of all instances: the bytes that each grew by, and
// a fixed share for each.
type Ledger struct {
	Max     int64  // bound on the bytes of all instances
	Release func() // called when bytes are given back; nil: nothing

	bytes atomic.Int64
	// making is held while an instance is made if the address space of the
	// process is bounded.
	making sync.Mutex
}

// Full reports whether the bound is reached.
func (l *Ledger) Full() bool { return l.bytes.Load() >= l.Max }

// Bytes returns the memory of all instances.
func (l *Ledger) Bytes() int64 { return l.bytes.Load() }

// Fits reports whether there is room for n bytes more.
func (l *Ledger) Fits(n int64) bool { return l.bytes.Load()+n <= l.Max }

func (l *Ledger) add(n int64) {
	l.bytes.Add(n)
	if n < 0 && l.Release != nil {
		l.Release()
	}
}

// memories allocates the linear memories of one instance, first that of
// Extism's kernel, then the guest's, and enforces the memory limit of the run
// that the instance serves.
type memories struct {
	from   *snapshot.Allocator
	ledger *Ledger
	made   int
	guest  *linearMemory

	// limit is the largest size of the guest's memory. While armed, exceeding
	// it ends the run; before, instantiation fails.
	limit   int64
	armed   bool
	stopped *fault.Error  // why the run was ended
	charged bool          // the guest's first pages count too: it shares no image
	reserve func(n int64) // called before the guest grows by n bytes; may wait, or end the run
}

// Allocate implements wazero's memory allocator.
func (m *memories) Allocate(capacity, maximum uint64) experimental.LinearMemory {
	m.made++
	l := &linearMemory{of: m, LinearMemory: m.from.Allocate(capacity, maximum), guest: m.made > 1}
	if l.guest {
		m.guest = l
	}
	return l
}

func (m *memories) disarm() { m.armed, m.reserve = false, nil }

// size returns the size of the guest's memory, which never shrinks.
func (m *memories) size() int64 {
	if m.guest == nil {
		return 0
	}
	return m.guest.size
}

// exceed ends the run that is over its limit.
func (m *memories) exceed() {
	m.stopped = memoryFault(m.limit)
	panic(&stop{m.stopped})
}

// linearMemory is a memory that is counted.
type linearMemory struct {
	experimental.LinearMemory
	of      *memories
	guest   bool
	size    int64
	initial int64 // not charged
	freed   bool
}

// Reallocate grows the memory. Beyond the limit the run ends: a guest must not
// continue half grown.
func (l *linearMemory) Reallocate(size uint64) []byte {
	m := l.of
	if l.guest && m.armed {
		if int64(size) > m.limit {
			m.exceed()
		}
		if m.reserve != nil {
			m.reserve(int64(size) - l.size)
		}
	}
	buf := l.LinearMemory.Reallocate(size)
	if buf == nil {
		if m.armed {
			m.exceed()
		}
		return nil
	}
	if l.size == 0 && !(l.guest && m.charged) {
		l.initial = int64(size)
	}
	m.ledger.add(int64(size) - max(l.size, l.initial))
	l.size = int64(size)
	return buf
}

// Free gives the memory back.
func (l *linearMemory) Free() {
	if l.freed {
		return
	}
	l.freed = true
	l.of.ledger.add(l.initial - l.size)
	l.LinearMemory.Free()
}
