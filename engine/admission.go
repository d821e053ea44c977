package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/wexec/wexec/fault"
)

// admission decides which runs may use a core. A run enters once, gives its
// core away while it waits for the host, and leaves at its end. New runs wait
// in turn, fairly between actors; a run that comes back from waiting goes
// first, since it holds memory.
type admission struct {
	mu     sync.Mutex
	cores  int // in all
	free   int // cores nobody uses
	back   []*ticket
	grow   []*ticket            // runs that wait for memory, without a core
	queues map[string][]*ticket // by actor
	turns  []string             // actors with somebody in the queue, next first
	queued int
	live   int         // runs that entered and did not leave for good
	max    int         // of queued
	room   func() bool // whether the memory in flight lets another run start
}

// ticket is one wait for a core.
type ticket struct {
	ready chan struct{} // closed when the core is ours
	enter bool          // of a run that is new
	actor string
	fits  func() bool // of a run that wants to grow: whether it may
}

func newAdmission(cores, queue int, room func() bool) *admission {
	return &admission{cores: cores, free: cores, max: queue, queues: map[string][]*ticket{}, room: room}
}

// enter waits for a core. Where the queue is full it is limit.busy at once;
// waiting is told how many are before it, where it has to wait.
func (a *admission) enter(ctx context.Context, actor string, waiting func(before int)) error {
	a.mu.Lock()
	if a.free > 0 && a.queued == 0 && len(a.back) == 0 && len(a.grow) == 0 && a.fits() {
		a.free--
		a.live++
		a.mu.Unlock()
		return nil
	}
	if a.queued >= a.max {
		n := a.queued
		a.mu.Unlock()
		return fault.New(fault.LimitBusy, "%d runs are waiting already", n).
			WithHint("try again later, or allow a longer queue in the engine's configuration")
	}
	t := &ticket{ready: make(chan struct{}), actor: actor, enter: true}
	if len(a.queues[actor]) == 0 {
		a.turns = append(a.turns, actor)
	}
	a.queues[actor] = append(a.queues[actor], t)
	before := a.queued
	a.queued++
	a.mu.Unlock()
	if waiting != nil {
		waiting(before)
	}
	return a.wait(ctx, t)
}

// leave gives the core to the next one.
func (a *admission) leave() {
	a.mu.Lock()
	a.free++
	a.next()
	a.mu.Unlock()
}

// done ends a run, which has given its core away before.
func (a *admission) done() {
	a.mu.Lock()
	a.live--
	a.next()
	a.mu.Unlock()
}

// fits reports whether one more run may start. Alone it always may: what fills
// the memory then are instances that only wait to be used. The lock is held.
func (a *admission) fits() bool { return a.live == 0 || a.room() }

// comeBack waits for a core after the run gave its own away.
func (a *admission) comeBack(ctx context.Context) error {
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

// toGrow waits until a run, which has given its core away, may grow, and gives
// it a core again. Where no run goes on any more, because all wait for memory,
// for people or for tools, the first that wants to grow may: it would wait for
// ever else.
func (a *admission) toGrow(ctx context.Context, fits func() bool) error {
	t := &ticket{ready: make(chan struct{}), fits: fits}
	a.mu.Lock()
	a.grow = append(a.grow, t)
	a.next()
	a.mu.Unlock()
	return a.wait(ctx, t)
}

// look hands out cores after the memory in flight has changed.
func (a *admission) look() {
	a.mu.Lock()
	a.next()
	a.mu.Unlock()
}

// waiting is how many runs are in the queue.
func (a *admission) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.queued
}

func (a *admission) wait(ctx context.Context, t *ticket) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-t.ready: // the core came first: pass it on
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
func (a *admission) next() {
	for a.free > 0 && len(a.back) > 0 {
		t := a.back[0]
		a.back = a.back[1:]
		a.grant(t)
	}
	for a.free > 0 && len(a.grow) > 0 && (a.grow[0].fits() || a.free == a.cores) {
		t := a.grow[0]
		a.grow = a.grow[1:]
		a.grant(t)
	}
	for a.free > 0 && len(a.turns) > 0 && len(a.grow) == 0 && a.fits() {
		actor := a.turns[0]
		t := a.queues[actor][0]
		a.forget(t)
		if len(a.queues[actor]) > 0 { // its next one waits for everybody's turn
			a.turns = append(slices.DeleteFunc(a.turns, func(s string) bool { return s == actor }), actor)
		}
		a.grant(t)
	}
}

// grant gives t a core. The lock is held.
func (a *admission) grant(t *ticket) {
	a.free--
	if t.enter {
		a.live++
	}
	close(t.ready)
}

// forget takes t out of its queue. The lock is held.
func (a *admission) forget(t *ticket) {
	same := func(o *ticket) bool { return o == t }
	if i := slices.IndexFunc(a.grow, same); i >= 0 {
		a.grow = slices.Delete(a.grow, i, i+1)
		return
	}
	if i := slices.IndexFunc(a.back, same); i >= 0 {
		a.back = slices.Delete(a.back, i, i+1)
		return
	}
	q := a.queues[t.actor]
	i := slices.IndexFunc(q, same)
	if i < 0 {
		return
	}
	a.queued--
	if len(q) > 1 {
		a.queues[t.actor] = slices.Delete(q, i, i+1)
		return
	}
	delete(a.queues, t.actor)
	a.turns = slices.DeleteFunc(a.turns, func(s string) bool { return s == t.actor })
}
