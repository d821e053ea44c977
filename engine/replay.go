package engine

import (
	"context"
	"encoding/binary"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// Replay runs a recorded program again. Calls, clock, standard input and files
// are answered from the record: no tool is called, no file of the host is opened
// and nothing is recorded. Of the providers only one of files is used, for the
// program's scratch folder; a run that had one needs one.
//
// The result is that of the replay, with the texts of the record. An error of
// the code usage.audit names the first difference between the replay and the
// record in status, value, output, calls with their names, arguments and order,
// file operations, and fuel. The same code reports a run that cannot be
// replayed, because not everything of it was kept, or because its clock or its
// caller ended it.
func (e *Engine) Replay(ctx context.Context, rec audit.Recording, providers ...hostfns.Provider) (*Result, error) {
	err := replayable(&rec)
	var table *hostfns.Table
	if err == nil {
		table, err = hostfns.Recorded(rec, providers...)
	}
	if err != nil {
		res := newResult("")
		res.failWith(faultOf(err))
		return res, res.Error
	}
	s := rec.Start
	off := false
	req := Request{
		Language: s.Language, Code: string(s.Code), File: s.File, Argv: s.Argv, Intent: s.Intent,
		Deterministic: s.Deterministic, Cache: &off, Actor: Actor{ID: s.Actor.ID, Type: s.Actor.Type}, Trigger: s.Trigger,
		Table: table, Limits: policy.LimitRecord(s.Limits).Limits(), Plugin: s.Plugin, Function: s.Function,
	}
	if s.Plugin != "" {
		req.PluginDigest = s.GuestSHA256
	}
	if len(s.Args) > 0 {
		req.Args = []byte(s.Args)
	}
	if s.Input != nil {
		req.Input = []byte(s.Input)
	}
	if len(s.Seed) == 8 {
		req.Seed = binary.BigEndian.Uint64(s.Seed)
	}
	guest := e.guests.Digest(s.Language)
	if s.Plugin != "" {
		guest = s.GuestSHA256
	}
	return e.run(ctx, req, world.NewRecorded(rec, guest))
}

// replayable returns the reason why a run cannot be replayed.
func replayable(rec *audit.Recording) error {
	not := func(hint, why string) error {
		return fault.New(fault.UsageAudit, "replay run %s: %s", rec.Run, why).WithHint("%s", hint)
	}
	switch {
	case !rec.Start.Keep.Full():
		return not("set  audit: {code: full, inputs: full, outputs: full}  in the policy, and record the run again",
			"its code, inputs and outputs were not all kept")
	case rec.Start.Session != "":
		return not("replay runs without a session", "it continued earlier runs of its session, which are not in its record")
	case rec.End.Cache == "hit":
		return not("replay the run that produced the value", "its value came from the result cache")
	case transient(fault.Code(rec.End.Code)):
		return not("", "it was ended from outside ("+rec.End.Code+"), at a point that the record does not have")
	case rec.End.World == nil:
		return not("", "what it saw was not kept")
	case len(rec.End.World.Dropped) > 0:
		return not("", "it saw more than the record keeps of "+sandbox.List(rec.End.World.Dropped))
	}
	return nil
}
