package audit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// None is the sink of a host that has decided to keep no record. It accepts
// every event and gives each the empty hash.
func None() Sink { return none{} }

type none struct{}

func (none) Record(_ context.Context, e Event) (string, error) {
	if e.Kind() == "" {
		return "", errShape()
	}
	return "", nil
}

// Memory is a sink that keeps its events, chained as on disk, for hosts and
// tests. The zero value is ready.
type Memory struct {
	mu     sync.Mutex
	events []Event
	prev   string
	fail   error
}

// Record keeps the event.
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

// Fail makes every later Record fail with err as the cause; nil mends it.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// Events gives a copy of what was recorded so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

func unavailable(format string, args ...any) *fault.Error {
	return fault.New(fault.AuditUnavailable, format, args...).WithOp("write the audit record")
}

func errShape() error {
	return unavailable("an event has exactly one of start, decision, call, privacy and end")
}
