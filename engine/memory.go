package engine

import (
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
)

// memories makes the linear memories of one instance: first that of Extism's
// kernel, then the guest's. It holds the guest to the limit of the run that it
// serves.
type memories struct {
	from   *snapshot.Allocator
	ledger *ledger
	made   int
	guest  *linear

	// limit is what the guest's memory may be in bytes. While armed, going
	// over it ends the run; before, instantiation fails.
	limit   int64
	armed   bool
	stopped *fault.Error // why it ended the run
	// whole says that all of the guest's memory counts, from its beginning: it
	// shares no image with others.
	whole bool
	room  func(n int64) // called before the guest grows by n bytes; it may wait, or end the run
}

// Allocate makes the next memory.
func (m *memories) Allocate(capacity, maximum uint64) experimental.LinearMemory {
	m.made++
	l := &linear{of: m, LinearMemory: m.from.Allocate(capacity, maximum), guest: m.made > 1}
	if l.guest {
		m.guest = l
	}
	return l
}

// linear is one of them, and counts what it takes.
type linear struct {
	experimental.LinearMemory
	of    *memories
	guest bool
	size  int64 // now, which is also its peak: memories never shrink
	first int64 // when it was made
	freed bool
}

// Reallocate grows the memory. Where the run's limit forbids it the run ends:
// a guest must not be able to go on half grown.
func (l *linear) Reallocate(size uint64) []byte {
	if l.guest && int64(size) > l.of.limit && l.of.armed {
		l.of.over()
	}
	if l.guest && l.of.armed && l.of.room != nil {
		l.of.room(int64(size) - l.size)
	}
	buf := l.LinearMemory.Reallocate(size)
	if buf == nil {
		if l.of.armed {
			l.of.over()
		}
		return nil
	}
	if l.size == 0 && !(l.guest && l.of.whole) {
		l.first = int64(size)
	}
	l.of.ledger.add(int64(size) - max(l.size, l.first))
	l.size = int64(size)
	return buf
}

// over ends the run that is over its limit.
func (m *memories) over() {
	m.stopped = memoryOver(m.limit)
	panic(&stop{m.stopped})
}

// Free gives the memory back.
func (l *linear) Free() {
	if l.freed {
		return
	}
	l.freed = true
	l.of.ledger.add(l.first - l.size)
	l.LinearMemory.Free()
}

// memoryOver is the fault of a run that needed more memory than it may have.
func memoryOver(limit int64) *fault.Error {
	return fault.New(fault.LimitMemory, "the program needs more than the %s of memory it may have", size(limit)).
		WithHint("keep less at once, or allow more with --memory %s", size(roundUp(limit)))
}

// ledger counts the bytes of memory that all live instances grew by, and a
// fixed share for each instance.
type ledger struct {
	bytes atomic.Int64
	most  int64  // bound on bytes
	less  func() // told when bytes were given back

	narrow sync.Mutex // held while an instance is made where address space is bounded
}

// fits reports whether the instances may grow by n bytes more.
func (l *ledger) fits(n int64) bool { return l.bytes.Load()+n <= l.most }

// instanceShare is what an instance is taken to need before it grows: what it
// writes to its copy of the image.
const instanceShare = 1 << 20

func (l *ledger) add(n int64) {
	l.bytes.Add(n)
	if n < 0 && l.less != nil {
		l.less()
	}
}
