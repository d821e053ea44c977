package audit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// None returns a sink that discards every event. The hash of each is empty.
func None() Sink { return none{} }

type none struct{}

func (none) Record(_ context.Context, e Event) (string, error) {
	if e.Kind() == "" {
		return "", errShape()
	}
	return "", nil
}

// Memory is a sink that keeps its events in memory, chained as on disk. The zero
// value is ready to use.
type Memory struct {
	mu     sync.Mutex
	events []Event
	prev   string
	fail   error
}

// Record implements [Sink].
func (m *Memory) Record(_ context.Context, e Event) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return "", unavailable("%w", m.fail)
	}
	e.Seq, e.Prev = uint64(len(m.events))+1, m.prev
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	_, hash, err := encode(nil, &e)
	if err != nil {
		return "", err
	}
	e.Hash, m.prev = hash, hash
	m.events = append(m.events, e)
	return hash, nil
}

// Fail makes every later Record fail with err as the cause. Nil ends that.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// Events returns a copy of the events so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}
