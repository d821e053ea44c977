package engine

import (
	"slices"

	"github.com/wexec/wexec/fault"
)

// Runs returns the runs of the engine that have not ended, the oldest first. A run
// is listed from the call of [Engine.Run] until that returns.
func (e *Engine) Runs() []ActiveRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]ActiveRun, 0, len(e.jobs))
	for j := range e.jobs {
		r := j.active
		switch {
		case j.slot == nil:
			r.State = RunQueued
		case j.host != nil && j.host.Waiting():
			r.State = RunWaiting
		default:
			r.State = RunRunning
		}
		if full, err := Language(r.Language); err == nil {
			r.Language = full
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b ActiveRun) int { return a.Started.Compare(b.Started) })
	return all
}

// Cancel ends the run with an id, with the code cancelled, and reports whether the
// run was active. It does not wait for the end. If a host gave several runs the same
// id, all of them end.
func (e *Engine) Cancel(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := false
	for j := range e.jobs {
		if j.active.ID == id {
			found = true
			j.cancel(fault.New(fault.Cancelled, "the host cancelled the run"))
		}
	}
	return found
}

// begin lists a job as active. [Engine.Close] waits for it.
func (e *Engine) begin(j *job) error {
	if err := e.enter(); err != nil {
		return err
	}
	j.active = ActiveRun{ID: j.res.RunID, Actor: j.req.Actor, Language: j.req.Language, Session: j.req.Session, Started: j.res.Started, Table: j.table}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs[j] = struct{}{}
	return nil
}

// finish takes back begin.
func (e *Engine) finish(j *job) {
	e.mu.Lock()
	delete(e.jobs, j)
	e.mu.Unlock()
	e.live.Done()
}
