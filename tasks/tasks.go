// Package tasks is the life of a task: work that a client leaves to a server. Each
// attempt of a task is a run, which waits in the queue of the store until it is due.
//
//	queued → running → accepted | failed | cancelled
//	running → review → accepted | rejected, if it changed a workspace
//
// An attempt that fails with a code that is tried again leads back to queued, and so
// does the end of an occurrence if the task has a schedule. What follows is decided by
// [After], in the transaction that records the end of the run. So no process watches
// over a task, and it goes on in whichever one takes its run over.
package tasks

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Plan has the rules by which a task is tried again, and runs again.
type Plan struct {
	Retry    Retry     `json:"retry,omitzero"`
	Schedule *Schedule `json:"schedule,omitempty"`
}

// Retry bounds how often a failed attempt is followed by another one, and when.
type Retry struct {
	Attempts int      `json:"attempts,omitempty" jsonschema:"how often the program is run at most, from 1 to 20; 3 unless told"`
	Delay    Duration `json:"delay,omitempty" jsonschema:"the pause before the second attempt, such as 10s; 10s unless told"`
	Factor   float64  `json:"factor,omitempty" jsonschema:"by how much each further pause is longer, from 1 to 10; 2 unless told"`
	Ceiling  Duration `json:"ceiling,omitempty" jsonschema:"the longest pause, at most 168h; 1h unless told"`
	Codes    []string `json:"codes,omitempty" jsonschema:"codes of errors after which the program is run again, or their classes, such as upstream; store.unavailable, upstream.unavailable and limit.busy unless told"`
}

// Bounds and defaults of a retry.
const (
	maxAttempts = 20
	maxFactor   = 10
	maxCeiling  = 7 * 24 * time.Hour
	maxCodes    = 50
	maxCode     = 60 // bytes
)

// Duration is a time.Duration as text, such as 10s.
type Duration string

// of returns the duration, and 0 for any other text.
func (d Duration) of() time.Duration {
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0
	}
	return parsed
}

// invalid returns a usage error of a task.
func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageTask, format, args...)
}

// Check refuses a plan that cannot be followed, and fills in what it does not say.
func (p *Plan) Check() error {
	if err := p.Retry.check(); err != nil {
		return err
	}
	if p.Schedule == nil {
		return nil
	}
	return p.Schedule.check()
}

func (r *Retry) check() error {
	if r.Attempts == 0 {
		r.Attempts = 3
	}
	if r.Delay == "" {
		r.Delay = "10s"
	}
	if r.Factor == 0 {
		r.Factor = 2
	}
	if r.Ceiling == "" {
		r.Ceiling = Duration(max(r.Delay.of(), time.Hour).String())
	}
	if len(r.Codes) == 0 {
		r.Codes = []string{string(fault.StoreUnavailable), string(fault.UpstreamUnavailable), string(fault.LimitBusy)}
	}
	switch {
	case r.Attempts < 1 || r.Attempts > maxAttempts:
		return invalid("retry.attempts must be 1 to %d, not %d", maxAttempts, r.Attempts)
	case r.Delay.of() <= 0 || r.Ceiling.of() <= 0:
		return invalid("retry.delay and retry.ceiling are durations above 0, not %.20q and %.20q", r.Delay, r.Ceiling).WithHint("write them as 10s or 1h30m")
	case r.Ceiling.of() < r.Delay.of() || r.Ceiling.of() > maxCeiling:
		return invalid("retry.delay must not be above retry.ceiling, which is at most %s", maxCeiling)
	case !(r.Factor >= 1 && r.Factor <= maxFactor):
		return invalid("retry.factor must be 1 to %d, not %v", maxFactor, r.Factor)
	case len(r.Codes) > maxCodes:
		return invalid("retry.codes has %d codes, more than %d", len(r.Codes), maxCodes)
	}
	for _, code := range r.Codes {
		if code == "" || len(code) > maxCode || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_.") != "" {
			return invalid("retry.codes: %.60q is not a code", code).WithHint("use codes and classes, such as upstream.unavailable or upstream")
		}
	}
	return nil
}

// covers reports whether the program is run again after an error with a code.
func (r Retry) covers(code fault.Code) bool {
	return slices.ContainsFunc(r.Codes, func(c string) bool {
		return c == string(code) || c == string(code.Class()) || strings.HasPrefix(string(code), c+".")
	})
}

// pause is how long the task waits after an attempt. Random is from 0 to 1: the pause
// is between half and all of what the delay has grown to, so that tasks which failed
// together are not tried again together.
func (r Retry) pause(attempt int64, random float64) time.Duration {
	grown := min(float64(r.Delay.of())*math.Pow(r.Factor, float64(attempt-1)), float64(r.Ceiling.of()))
	return time.Duration(grown/2 + random*grown/2)
}

// After returns what follows an attempt of a task that ended. Run is the id of the next
// attempt if there is one, and random is from 0 to 1.
func After(t store.Task, end store.TaskEnd, run string, random float64) store.TaskStep {
	step := store.TaskStep{State: store.TaskFailed, Attempt: t.Attempt, Times: t.Times}
	if end.Cancelled {
		step.State = store.TaskCancelled
		return step
	}
	if end.Code == fault.DeniedToken { // neither will the next one be allowed
		step.Times++
		return step
	}
	var p Plan
	_ = json.Unmarshal(t.Plan, &p) // one that cannot be read has no retry and no schedule
	ok := end.Status == "ok"
	if !ok && t.Attempt < int64(p.Retry.Attempts) && p.Retry.covers(end.Code) {
		step.State, step.Run, step.Attempt = store.TaskQueued, run, t.Attempt+1
		step.Due = end.At.Add(p.Retry.pause(t.Attempt, random))
		return step
	}
	step.Times++
	switch {
	case ok && end.Review:
		step.State = store.TaskReview
		return step
	case ok:
		step.State = store.TaskAccepted
	}
	if p.Schedule != nil {
		if next, err := p.Schedule.Next(end.At); err == nil {
			step.State, step.Run, step.Attempt, step.Due = store.TaskQueued, run, 1, next
		}
	}
	return step
}

// Decided returns what follows the answer about a task in review.
func Decided(t store.Task, accepted bool) store.TaskStep {
	step := store.TaskStep{State: store.TaskRejected, Attempt: t.Attempt, Times: t.Times}
	if accepted {
		step.State = store.TaskAccepted
	}
	return step
}
