package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/wexec/wexec/fault"
)

// Recording is everything that is kept of one run, as a replay needs it.
type Recording struct {
	Run       string
	Start     Start
	Decisions []Decision      // in the order in which they were taken
	Calls     map[uint64]Call // by number
	Privacy   []Privacy
	End       End
	Events    []Event // all of it, in order
}

// LoadRecording gathers one run from a folder. A run that is unknown, that has not
// ended, or of which not everything was kept, is usage.audit with a hint that
// says what to do. It checks each line and not the chain: that is [Verify]'s.
func LoadRecording(dir, run string) (Recording, error) {
	var events []Event
	ended := false
	for e, err := range Read(context.Background(), dir, Filter{Run: run}) {
		if err != nil {
			// A damaged line while the run was going on may have been its own.
			if len(events) > 0 && !ended {
				return Recording{}, err
			}
			continue
		}
		events = append(events, e)
		ended = ended || e.End != nil
	}
	rec, err := gather(run, events)
	if err != nil {
		return Recording{}, err
	}
	if !rec.Start.Keep.Full() {
		return Recording{}, fault.New(fault.UsageAudit, "run %s cannot be repeated: its code, inputs and outputs were not all kept", run).
			WithHint("record runs with  audit: {code: full, inputs: full, outputs: full}  in the policy")
	}
	return rec, nil
}

// gather puts the events of one run together.
func gather(run string, events []Event) (Recording, error) {
	bad := func(format string, args ...any) (Recording, error) {
		return Recording{}, fault.New(fault.UsageAudit, format, args...)
	}
	rec := Recording{Run: run, Calls: map[uint64]Call{}, Events: events}
	started, ended := false, false
	for _, e := range events {
		switch {
		case e.Start != nil && started:
			return bad("run %s begins twice", run)
		case e.Start != nil:
			rec.Start, started = *e.Start, true
		case ended:
			return bad("run %s goes on after its end", run)
		case e.Decision != nil:
			rec.Decisions = append(rec.Decisions, *e.Decision)
		case e.Call != nil:
			if _, twice := rec.Calls[e.Call.Call]; twice {
				return bad("call %d of run %s ends twice", e.Call.Call, run)
			}
			rec.Calls[e.Call.Call] = *e.Call
		case e.Privacy != nil:
			rec.Privacy = append(rec.Privacy, *e.Privacy)
		case e.End != nil:
			rec.End, ended = *e.End, true
		}
	}
	switch {
	case len(events) == 0:
		return Recording{}, fault.New(fault.UsageAudit, "there is no record of run %q", run).
			WithHint("list the runs with: wexec audit show")
	case !started:
		return bad("the beginning of run %s is not in the record", run)
	case !ended:
		return bad("run %s has no end in the record: it is still going on, or was killed", run)
	}
	for _, n := range rec.End.Order {
		if _, ok := rec.Calls[n]; !ok && n != 0 {
			return bad("the answer of call %d of run %s is not in the record", n, run)
		}
	}
	return rec, nil
}

// Recording gathers a run that was kept in memory, whether or not all of it
// was kept.
func (m *Memory) Recording(run string) (Recording, error) {
	events := slices.DeleteFunc(m.Events(), func(e Event) bool { return e.Run != run })
	return gather(run, events)
}

// Decision is what was decided about a call, or false where it never came to
// one.
func (r *Recording) Decision(call uint64) (Decision, bool) {
	for _, d := range r.Decisions {
		if d.Call == call {
			return d, true
		}
	}
	return Decision{}, false
}

// String names the run and its size.
func (r *Recording) String() string {
	return fmt.Sprintf("run %s: %d calls, %s", r.Run, len(r.Calls), r.End.Status)
}
