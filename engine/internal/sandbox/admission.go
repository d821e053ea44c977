package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// Admission decides which runs may use a core. New runs wait in a queue, fairly
// between actors. A run gives its core away while it waits for the host; when
// it comes back it has precedence over new runs, because it occupies memory.
type Admission struct {
	ledger *Ledger

	mu       sync.Mutex
	cores    int // in all
	free     int
	back     []*ticket            // runs that come back
	grow     []*ticket            // runs without a core that wait for memory
	queues   map[string][]*ticket // new runs, by actor
	actors   []string             // with a run in the queue, the next first
	queued   int
	maxQueue int
	live     int // runs that were admitted and have not ended
}

// ticket is one wait for a core.
type ticket struct {
	ready chan struct{} // closed when the core is given
	enter bool          // of a new run
	actor string
	bytes int64 // that a run wants to grow by
}

// NewAdmission returns the admission to a number of cores. It hands out cores
// again whenever the ledger releases memory.
func NewAdmission(cores, queue int, l *Ledger) *Admission {
	a := &Admission{ledger: l, cores: cores, free: cores, maxQueue: queue, queues: map[string][]*ticket{}}
	l.Release = func() { a.release(0) }
	return a
}

// Slot is the place of one run. It belongs to the goroutine of the run. A nil
// Slot never gives its core away.
type Slot struct {
	from *Admission
	held bool // has a core now

	parked time.Duration // time spent without a core
	since  time.Time     // of the last Park
}

// Enter waits for a core. If the queue is full it is limit.busy at once. If the
// run has to wait, waiting is called with the number of runs before it.
func (a *Admission) Enter(ctx context.Context, actor string, waiting func(before int)) (*Slot, error) {
	a.mu.Lock()
	if a.free > 0 && a.queued == 0 && len(a.back) == 0 && len(a.grow) == 0 && a.admits() {
		a.free--
		a.live++
		a.mu.Unlock()
		return &Slot{from: a, held: true}, nil
	}
	if a.queued >= a.maxQueue {
		n := a.queued
		a.mu.Unlock()
		return nil, fault.New(fault.LimitBusy, "the queue is full: %d runs are waiting", n).
			WithHint("try again later, or allow a longer queue in the engine's configuration")
	}
	t := &ticket{ready: make(chan struct{}), actor: actor, enter: true}
	if len(a.queues[actor]) == 0 {
		a.actors = append(a.actors, actor)
	}
	a.queues[actor] = append(a.queues[actor], t)
	before := a.queued
	a.queued++
	a.mu.Unlock()
	waiting(before)
	if err := a.wait(ctx, t); err != nil {
		return nil, err
	}
	return &Slot{from: a, held: true}, nil
}

// Leave ends the run.
func (s *Slot) Leave() {
	a := s.from
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.held {
		s.held = false
		a.free++
	}
	a.live--
	a.next()
}

// Park gives the core away while the run waits for the host.
func (s *Slot) Park() {
	if s == nil {
		return
	}
	s.since = time.Now()
	if s.held {
		s.held = false
		s.from.release(1)
	}
}

// Unpark waits for a core again. It may return without one if ctx has ended.
func (s *Slot) Unpark(ctx context.Context) {
	if s != nil {
		_ = s.resume(s.from.comeBack(ctx))
	}
}

// Reserve waits until the run may grow by n bytes. Other runs hold the memory
// until then; relieve is called once to give up memory that is idle.
func (s *Slot) Reserve(ctx context.Context, n int64, relieve func()) error {
	l := s.from.ledger
	if l.Fits(n) {
		return nil
	}
	if relieve(); l.Fits(n) {
		return nil
	}
	s.Park()
	return s.resume(s.from.toGrow(ctx, n))
}

// resume ends the time without a core; with an error the run has none.
func (s *Slot) resume(err error) error {
	s.held = err == nil
	s.parked += time.Since(s.since)
	return err
}

// Borrow waits for a core for work of the host while the run is parked, and returns
// the function that gives it back.
func (s *Slot) Borrow(ctx context.Context) (leave func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	return s.from.Borrow(ctx)
}

// Borrow waits for a core for work in another goroutine, and returns the function
// that gives it back.
func (a *Admission) Borrow(ctx context.Context) (leave func(), err error) {
	if err := a.comeBack(ctx); err != nil {
		return nil, err
	}
	return func() { a.release(1) }, nil
}

// Waiting returns the length of the queue.
func (a *Admission) Waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.queued
}

// admits reports whether one more run may start. A single run always may: what
// fills the memory then is idle. The lock is held.
func (a *Admission) admits() bool { return a.live == 0 || !a.ledger.Full() }

// release hands out cores after some of them, or memory, became free.
func (a *Admission) release(cores int) {
	a.mu.Lock()
	a.free += cores
	a.next()
	a.mu.Unlock()
}

func (a *Admission) comeBack(ctx context.Context) error {
	a.mu.Lock()
	if a.free > 0 && len(a.back) == 0 {
		a.free--
		a.mu.Unlock()
		return nil
	}
	t := &ticket{ready: make(chan struct{})}
	a.back = append(a.back, t)
	a.mu.Unlock()
	return a.wait(ctx, t)
}

// toGrow waits until a run without a core may grow, and gives it a core. If no
// run has a core, because all wait for memory, people or tools, the first one
// may grow: it would wait for ever otherwise.
func (a *Admission) toGrow(ctx context.Context, n int64) error {
	t := &ticket{ready: make(chan struct{}), bytes: n}
	a.mu.Lock()
	a.grow = append(a.grow, t)
	a.next()
	a.mu.Unlock()
	return a.wait(ctx, t)
}

func (a *Admission) wait(ctx context.Context, t *ticket) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-t.ready: // the core came first
		a.free++
		if t.enter {
			a.live--
		}
	default:
		a.forget(t)
	}
	a.next()
	return context.Cause(ctx)
}

// next hands out free cores. The lock is held.
func (a *Admission) next() {
	for a.free > 0 && len(a.back) > 0 {
		a.grant(a.back[0])
	}
	for a.free > 0 && len(a.grow) > 0 && (a.ledger.Fits(a.grow[0].bytes) || a.free == a.cores) {
		a.grant(a.grow[0])
	}
	for a.free > 0 && len(a.actors) > 0 && len(a.grow) == 0 && a.admits() {
		actor := a.actors[0]
		a.grant(a.queues[actor][0])
		if len(a.queues[actor]) > 0 { // the other actors go first
			a.actors = append(a.actors[1:], actor)
		}
	}
}

// grant gives t a core. The lock is held.
func (a *Admission) grant(t *ticket) {
	a.forget(t)
	a.free--
	if t.enter {
		a.live++
	}
	close(t.ready)
}

// forget removes t from its queue. The lock is held.
func (a *Admission) forget(t *ticket) {
	same := func(o *ticket) bool { return o == t }
	if !t.enter {
		a.back = slices.DeleteFunc(a.back, same)
		a.grow = slices.DeleteFunc(a.grow, same)
		return
	}
	a.queued--
	if q := slices.DeleteFunc(a.queues[t.actor], same); len(q) > 0 {
		a.queues[t.actor] = q
		return
	}
	delete(a.queues, t.actor)
	a.actors = slices.DeleteFunc(a.actors, func(s string) bool { return s == t.actor })
}

// parkedTime returns how long the run was parked so far.
func (s *Slot) parkedTime() time.Duration {
	if s == nil {
		return 0
	}
	return s.parked
}
