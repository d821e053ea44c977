package hostfns

import (
	"context"
	"sync"
)

// turn keeps the calls of an ordered run in line: a call is decided after the
// one started before it was decided, and its answer is let in while the guest
// is parked and waits for this very call. Counters and the numbers of tokens
// come out the same each time, whatever the program says in between.
type turn struct {
	before       *turn
	decided, due chan struct{}
	onceA, onceB sync.Once
}

func newTurn(before *turn) *turn {
	return &turn{before: before, decided: make(chan struct{}), due: make(chan struct{})}
}

// toDecide waits for the turn to be decided.
func (t *turn) toDecide(ctx context.Context) {
	if t == nil || t.before == nil {
		return
	}
	select {
	case <-t.before.decided:
	case <-ctx.Done():
	}
}

// hasDecided lets the next call be decided.
func (t *turn) hasDecided() {
	if t != nil {
		t.onceA.Do(func() { close(t.decided) })
	}
}

// isDue says that the guest waits for the answer.
func (t *turn) isDue() {
	if t != nil {
		t.onceB.Do(func() { close(t.due) })
	}
}

// toDeliver waits until the guest waits for the answer. It is false where it
// never will.
func (t *turn) toDeliver(ctx context.Context) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.due:
		return true
	default:
	}
	select {
	case <-t.due:
		return true
	case <-ctx.Done():
		return false
	}
}

// end lets the next call go on, whatever became of this one.
func (t *turn) end() {
	if t != nil {
		t.hasDecided()
		t.before = nil
	}
}
