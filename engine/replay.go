package engine

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Replay runs a recorded program again, with every call answered from the
// record: no tool is called and nothing is recorded. Of the providers only one
// of files is asked, for the program's scratch folder; none is fine.
//
// The result is the one of the replay. An error of the code usage.audit says
// that the replay took another course than the record, and where; whether the
// value is the recorded one can be told by its digest,
// [Result.Provenance].Value. A program that used its clock or random numbers
// is repeated bit for bit only where it ran deterministic.
func (e *Engine) Replay(ctx context.Context, rec audit.Recording, providers ...hostfns.Provider) (*Result, error) {
	table, err := hostfns.Recorded(rec, providers...)
	if err != nil {
		f := faultOf(err)
		res := &Result{RunID: newID(time.Now()), Status: StatusError, Started: time.Now().UTC(), Cache: "off",
			Error: &Error{Code: f.Code, Class: f.Code.Class(), Message: f.Message, Hint: f.Hint, cause: f}}
		return res, res.Error
	}
	s := rec.Start
	off := false
	req := Request{
		Language: s.Language, Code: string(s.Code), File: s.File, Args: []byte(s.Args), Argv: s.Argv, Intent: s.Intent,
		Deterministic: s.Deterministic, Cache: &off, Actor: Actor{ID: s.Actor.ID, Type: s.Actor.Type}, Trigger: s.Trigger,
		Table: table, Env: map[string]string{},
		Limits: Limits{Fuel: s.Limits.Fuel, Memory: s.Limits.Memory, Time: time.Duration(s.Limits.TimeMS) * time.Millisecond,
			Output: s.Limits.Output, ToolCalls: s.Limits.ToolCalls, Parallel: s.Limits.Parallel,
			HostBytes: s.Limits.HostBytes, Recursion: s.Limits.Recursion},
	}
	if len(s.Args) == 0 {
		req.Args = nil
	}
	if s.Input != nil {
		req.Input = []byte(s.Input)
	}
	if len(s.Seed) == 8 {
		req.Seed = binary.BigEndian.Uint64(s.Seed)
	}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		req.Env[name] = value
	}
	res, err := e.run(ctx, req, &rec)
	if err == nil && rec.End.Status == string(StatusOK) && rec.End.ValueSHA256 != "" && rec.End.ValueSHA256 != digest(res.Value) {
		f := fault.New(fault.UsageAudit, "the replay gave another value than the record").
			WithHint("a program is repeated bit for bit where it ran deterministic")
		res.Error = &Error{Code: f.Code, Class: f.Code.Class(), Message: f.Message, Hint: f.Hint, cause: f}
		res.Status = StatusError
		return res, res.Error
	}
	return res, err
}
