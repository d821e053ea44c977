package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/tokens"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Run runs a program. The result is never nil: output and usage survive a
// failure. The error is nil if the program succeeded, else an [*Error], the same
// as the result's; errors.Is tells its code.
//
//	res, err := e.Run(ctx, engine.Request{Language: "python", Code: "1+1"})
//	if errors.Is(err, fault.LimitFuel) { … }
//
// Cancelling ctx ends the program.
func (e *Engine) Run(ctx context.Context, req Request) (*Result, error) { return e.run(ctx, req, nil) }

// run runs a program in a world; nil is the live one.
func (e *Engine) run(ctx context.Context, req Request, w world.World) (*Result, error) {
	j := &job{e: e, req: req, world: w, table: cmp.Or(req.Table, e.table), res: newResult(req.ID)}
	ctx, span := j.startSpan(ctx)
	defer func() { j.endSpan(span) }()
	ctx, j.cancel = context.WithCancelCause(ctx)
	defer j.cancel(nil)
	if err := e.enter(); err != nil {
		j.fail(err)
		return j.done()
	}
	defer e.live.Done()
	j.active = &activeRun{cancel: j.cancel, ActiveRun: ActiveRun{ID: j.res.RunID, Actor: req.Actor, Language: req.Language, Session: req.Session, Started: j.res.Started, Table: j.table}}
	e.active.add(j.active)
	defer e.active.remove(j.active)
	defer context.AfterFunc(e.ctx, func() { j.cancel(context.Cause(e.ctx)) })()
	j.do(ctx)
	return j.done()
}

// do runs the job and leaves its outcome in it.
func (j *job) do(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			j.e.log.Error("panic in a run", "run", j.res.RunID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.fail(fault.New(fault.Internal, "the engine failed"))
		}
	}()
	if err := j.check(); err != nil {
		j.fail(err)
		return
	}
	if err := j.review(ctx); err != nil {
		j.failIn(ctx, err)
		return
	}
	if j.req.Session != "" {
		var err error
		if j.session, err = j.e.sessions.enter(ctx, sessionKeyOf(&j.req, j.table), j.req.Language, j.res.RunID, j.table); err != nil {
			j.failIn(ctx, err)
			return
		}
	}
	if err := j.open(ctx); err != nil {
		j.fail(err)
		j.leaveSession()
		return
	}
	ctx = j.tools.Context()
	if err := j.tools.Admit(ctx); err != nil {
		j.failIn(ctx, err)
	} else if !j.fromCache(ctx) {
		j.execute(ctx)
	}
	j.close(ctx)
}

// execute waits for a core and runs the program.
func (j *job) execute(ctx context.Context) {
	j.e.sessions.relieve()
	slot, err := j.e.cores.Enter(ctx, j.req.Actor.ID, j.queued)
	if err != nil {
		j.failIn(ctx, err)
		return
	}
	j.slot = slot
	j.e.active.admit(j.active, nil)
	defer slot.Leave()
	run := j.runProgram
	if j.req.Plugin != "" {
		run = j.runPlugin
	}
	if err := j.inGuest(ctx, run); err != nil {
		j.failIn(ctx, err)
	}
}

// close records the end, and counts what the run used.
func (j *job) close(ctx context.Context) {
	parked := j.parked()
	if j.fault != nil || j.guestErr != nil {
		j.res.Error = j.failure()
		j.res.Value = nil
	}
	if !parked {
		j.res.Status = statusOf(j.res.Error)
	}
	u := &j.res.Usage
	u.WallMS = time.Since(j.res.Started).Milliseconds()
	u.ResultSize = int64(len(j.res.Value) + len(j.res.Stdout) + len(j.res.Stderr))
	end := audit.End{
		Status: string(j.res.Status), Cache: j.res.Cache,
		Value: audit.Blob(j.res.Value), Stdout: []byte(j.res.Stdout), Stderr: []byte(j.res.Stderr),
		Usage: audit.Usage{Fuel: u.Fuel, MemoryPeak: u.MemoryPeak, WallMS: u.WallMS, GuestMS: u.GuestMS, Output: u.ResultSize},
	}
	if e := j.res.Error; e != nil {
		end.Code, end.Message, end.Exit = string(e.Code), e.Message, e.Exit
	}
	if j.host != nil {
		end.World = j.world.Seen()
	}
	sum, err := j.tools.Close(ctx, end)
	if err != nil && j.res.Error == nil {
		// Nothing of a run may be shown without a record of its end.
		j.res.Value, j.res.Stdout, j.res.Stderr = nil, "", ""
		j.fault = faultOf(err)
	}
	if w := j.req.Workspace; w != nil {
		id, changed, err := w.Used(j.res.RunID)
		if j.res.Workspace = (&Workspace{ID: id, Changed: changed}); err != nil && j.res.Error == nil {
			j.res.failWith(faultOf(err))
		}
	}
	end.Order = sum.Order
	recorded, difference := j.world.Verify(&end, j.fault, j.tools.Unrepeated)
	switch {
	case difference != nil:
		j.res.Value = nil
		j.res.failWith(difference)
	case recorded != nil:
		j.res.Stdout, j.res.Stderr = string(recorded.Stdout), string(recorded.Stderr)
		if len(recorded.Value) > 0 {
			j.res.Value = []byte(recorded.Value)
		}
	}
	j.count(sum)
	j.reportIssued()
	if err == nil && j.log == nil {
		j.store(sum.Cacheable)
	}
	if j.caching.release != nil {
		j.caching.release()
	}
	if j.table == j.e.table {
		j.e.cache.noteCatalogue(j.table)
	}
	j.leaveSession()
}

// reportIssued gives the values of the tokens of the run to the caller.
func (j *job) reportIssued() {
	if j.req.Issued == nil {
		return
	}
	texts := [][]byte{[]byte(j.req.Code), j.req.Args, j.res.Value, []byte(j.res.Stdout), []byte(j.res.Stderr)}
	if e := j.res.Error; e != nil {
		texts = append(texts, []byte(e.Message))
	}
	if issued := j.tools.Issued(texts...); len(issued) > 0 {
		j.req.Issued(issued)
	}
}

// count puts what the host functions counted into the result.
func (j *job) count(s hostfns.Summary) {
	res, u := j.res, &j.res.Usage
	res.Calls = slices.Grow(res.Calls, len(s.Calls))
	for _, c := range s.Calls {
		res.Calls = append(res.Calls, callOf(c))
	}
	if len(s.Found) > 0 {
		res.Privacy = &Privacy{Mode: s.Mode, Counts: s.Found}
	}
	res.Provenance.Tools, res.Provenance.AuditHead = s.Tools, s.AuditHead
	if res.Value != nil {
		res.Provenance.Value = digest(res.Value)
	}
	u.ToolCalls, u.ToolBytes = s.ToolCalls, s.ToolBytes
	if j.host != nil {
		u.TokensInTools = j.host.ToolTokens
	}
	u.TokensOut = tokens.Estimate(res.Value) + tokens.Estimate([]byte(res.Stdout)) + tokens.Estimate([]byte(res.Stderr))
	if s.ToolCalls > 0 && u.TokensInTools > 0 {
		saved := max(0, 1-float64(u.TokensOut)/float64(u.TokensInTools))
		u.ContextSavings = &saved
	}
	for _, w := range s.Warnings {
		j.e.log.Warn(w, "run", res.RunID)
	}
}

// done ends the job.
func (j *job) done() (*Result, error) {
	if j.res.Error == nil && (j.fault != nil || j.guestErr != nil) {
		j.res.Error = j.failure()
	}
	if j.res.Parked == nil {
		j.res.Status = statusOf(j.res.Error)
	}
	j.event(Event{Type: EventDone, Text: string(j.res.Status)})
	if j.res.Error != nil {
		return j.res, j.res.Error
	}
	return j.res, nil
}

// leaveSession ends the run's part in its session. The session ends too if its
// interpreter cannot go on.
func (j *job) leaveSession() {
	if j.session == nil {
		return
	}
	var why *fault.Error
	switch i := j.session.instance; {
	case i == nil:
	case i.Broken():
		if why = j.fault; why == nil {
			why = fault.New(fault.Internal, "the interpreter is in an unknown state")
		}
	case j.fault != nil && j.fault.Code.Class() == fault.ClassInternal:
		why = j.fault
	}
	if j.host != nil {
		j.session.uptime = j.host.Uptime + j.world.Elapsed()
	}
	j.e.sessions.leave(j.session, time.Duration(j.res.Usage.GuestMS)*time.Millisecond, why)
}
