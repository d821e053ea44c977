package engine

import (
	"context"
	"slices"
	"time"
)

// A Journal keeps the records with which a run goes on in another process. Records
// have personal data: seal them, for the run and their number. Methods are called by
// one goroutine at a time.
type Journal interface {
	// Append keeps a record after those before it, and returns when it outlasts the
	// process.
	Append(ctx context.Context, record []byte) error
}

// Delivered is how many bytes of the output of a run arrived.
type Delivered struct{ Stdout, Stderr int64 }

// Parked describes what a run waits for that left memory. The run goes on with
// [Request].Records when one of the questions in [Result].Waiting is answered, or
// expires, at the time Until, or when one of the signals is there.
type Parked struct {
	Until   time.Time `json:"until,omitzero"` // the next timer; zero: no timer is set
	Signals []string  `json:"signals,omitempty"`
}

// waitFor adds a signal that is waited for until a time.
func (p *Parked) waitFor(name string, until time.Time) {
	if !slices.Contains(p.Signals, name) {
		p.Signals = append(p.Signals, name)
		slices.Sort(p.Signals)
	}
	if p.Until.IsZero() || until.Before(p.Until) {
		p.Until = until
	}
}
