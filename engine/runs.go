package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
)

// activeRuns are the runs of an engine that have not ended. The zero value is empty.
type activeRuns struct {
	mu  sync.Mutex
	all map[*activeRun]struct{}
}

// activeRun is one of them. Its fields are guarded by activeRuns.mu.
type activeRun struct {
	ActiveRun // without the state
	cancel    context.CancelCauseFunc
	admitted  bool          // had a core
	host      *sandbox.Host // nil until the program starts
}

func (a *activeRuns) add(r *activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[*activeRun]struct{}{}
	}
	a.all[r] = struct{}{}
}

func (a *activeRuns) remove(r *activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, r)
}

// admit notes that a run has a core, and its host once there is one.
func (a *activeRuns) admit(r *activeRun, host *sandbox.Host) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.admitted, r.host = true, host
}

// list returns the runs, the oldest first.
func (a *activeRuns) list() []ActiveRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]ActiveRun, 0, len(a.all))
	for r := range a.all {
		run := r.ActiveRun
		switch {
		case !r.admitted:
			run.State = RunQueued
		case r.host != nil && r.host.Waiting():
			run.State = RunWaiting
		default:
			run.State = RunRunning
		}
		if full, err := Language(run.Language); err == nil {
			run.Language = full
		}
		all = append(all, run)
	}
	slices.SortFunc(all, func(a, b ActiveRun) int { return a.Started.Compare(b.Started) })
	return all
}

// end cancels the runs with an id and reports whether there was one.
func (a *activeRuns) end(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := false
	for r := range a.all {
		if r.ID == id {
			found = true
			r.cancel(fault.New(fault.Cancelled, "the host cancelled the run"))
		}
	}
	return found
}
