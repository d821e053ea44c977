package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/wexec/wexec/fault"
)

// Recording is the record of one run, as needed for a replay.
type Recording struct {
	Run       string
	Start     Start
	Decisions []Decision      // in order
	Calls     map[uint64]Call // by number
	Privacy   []Privacy
	End       End
	Events    []Event // all events, in order
}

// LoadRecording collects the record of one run from a directory. It fails with
// usage.audit if the run is unknown, has not ended, or was not recorded in full.
// It checks each line, but not the chain; see [Verify].
func LoadRecording(dir, run string) (Recording, error) {
	var events []Event
	ended := false
	for e, err := range Read(context.Background(), dir, Filter{Run: run}) {
		if err != nil {
			// A damaged line during the run may belong to it.
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
	if rec.sealed() {
		return Recording{}, fault.New(fault.UsageAudit, "run %s cannot be replayed: it is of a server, which keeps the program and its data sealed in its store", run).
			WithHint("see its code and result with wexec runs show %s, and run the program again", run)
	}
	if !rec.Start.Keep.Full() {
		return Recording{}, fault.New(fault.UsageAudit, "run %s cannot be replayed: its code, inputs and outputs were not all recorded", run).
			WithHint("set audit: {code: full, inputs: full, outputs: full} in the policy")
	}
	return rec, nil
}

// sealed reports whether texts of the run are kept outside the chain.
func (r Recording) sealed() bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Start != nil && e.Detail != "" })
}

// gather builds a recording from the events of one run.
func gather(run string, events []Event) (Recording, error) {
	bad := func(format string, args ...any) (Recording, error) {
		return Recording{}, fault.New(fault.UsageAudit, format, args...)
	}
	rec := Recording{Run: run, Calls: map[uint64]Call{}, Events: events}
	started, ended := false, false
	for _, e := range events {
		switch {
		case e.Start != nil && started:
			return bad("run %s starts twice", run)
		case e.Start != nil:
			rec.Start, started = *e.Start, true
		case ended:
			return bad("run %s continues after its end", run)
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
		return Recording{}, fault.New(fault.UsageAudit, "no record of run %q", run).
			WithHint("list runs with: wexec audit show")
	case !started:
		return bad("run %s has no start in the record", run)
	case !ended:
		return bad("run %s has no end in the record: it is still running, or was killed", run)
	}
	for _, n := range rec.End.Order {
		if _, ok := rec.Calls[n]; !ok && n != 0 {
			return bad("the answer of call %d of run %s is not in the record", n, run)
		}
	}
	return rec, nil
}

// Recording builds a recording of a run, whether or not it was recorded in full.
func (m *Memory) Recording(run string) (Recording, error) {
	events := slices.DeleteFunc(m.Events(), func(e Event) bool { return e.Run != run })
	return gather(run, events)
}

// Decision returns the decision about a call, or false if there was none.
func (r *Recording) Decision(call uint64) (Decision, bool) {
	for _, d := range r.Decisions {
		if d.Call == call {
			return d, true
		}
	}
	return Decision{}, false
}

// String summarizes the run.
func (r *Recording) String() string {
	return fmt.Sprintf("run %s: %d calls, %s", r.Run, len(r.Calls), r.End.Status)
}
