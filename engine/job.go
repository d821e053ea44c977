package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/policy"
)

// job is one call of Run, from its request to its result.
type job struct {
	e     *Engine
	req   Request
	table *hostfns.Table
	rec   *audit.Recording // what is repeated; nil: nothing
	res   *Result

	cancel   context.CancelCauseFunc
	tools    *hostfns.Run
	limits   Limits
	run      *run
	fault    *fault.Error // why it failed, where no program said so itself
	guestErr *guestError  // the program's own failure
	inTools  int64        // estimated tokens of tool answers
	session  *session
	source   guests.Program // as the guest takes it

	modulesMu sync.Mutex
	modules   map[string]guests.Program // files that it imported and that were compiled
	refused   *guests.SyntaxError       // what the compiler said of the last that was not
	seen      seen                      // what it looked at of its folder

	began    time.Time // by the program's clock
	seed     [32]byte  // of its random source, where the record keeps it
	repeated *recall   // the files of a replay
	foreign  []byte    // the module of the plugin

	cacheKey resultKey
	land     func() // lets the twins of this run go on

	fuel    atomic.Int64 // used so far, for who listens to events
	eventMu sync.Mutex
}

// Run runs one program and says what became of it. The result is never nil:
// usage and output survive a failure. The error is nil where the program
// succeeded, else an [*Error], the same as the result's; errors.Is tells its
// code.
//
//	res, err := e.Run(ctx, engine.Request{Language: "python", Code: "1+1"})
//	if errors.Is(err, fault.LimitFuel) { … }
//
// Cancelling ctx ends the program.
func (e *Engine) Run(ctx context.Context, req Request) (*Result, error) { return e.run(ctx, req, nil) }

// run is Run, for a replay where rec is not nil.
func (e *Engine) run(ctx context.Context, req Request, rec *audit.Recording) (*Result, error) {
	j := &job{e: e, req: req, rec: rec, table: req.Table, res: &Result{
		RunID: req.ID, Status: StatusOK, Started: time.Now().UTC(), Cache: "off",
	}}
	if j.res.RunID == "" {
		j.res.RunID = newID(j.res.Started)
	}
	if j.table == nil {
		j.table = e.table
	}
	if err := e.enter(); err != nil {
		j.fail(err)
		return j.done()
	}
	defer e.live.Done()
	ctx, j.cancel = context.WithCancelCause(ctx)
	defer j.cancel(nil)
	defer context.AfterFunc(e.ctx, func() { j.cancel(context.Cause(e.ctx)) })()
	func() {
		defer func() {
			if p := recover(); p != nil {
				e.log.Error("panic in a run", "run", j.res.RunID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				j.fail(fault.New(fault.Internal, "the engine failed"))
			}
		}()
		j.do(ctx)
	}()
	return j.done()
}

// do runs the job and leaves what became of it in the job.
func (j *job) do(ctx context.Context) {
	if err := j.check(); err != nil {
		j.fail(err)
		return
	}
	if j.req.Session != "" {
		var err error
		if j.session, err = j.e.sessions.enter(sessionKey{j.table, j.req.Actor.ID, j.req.Session}, j.req.Language); err != nil {
			j.fail(err)
			return
		}
	}
	if err := j.open(ctx); err != nil {
		j.fail(err)
		j.leaveSession()
		return
	}
	ctx = j.tools.Context()
	if !j.cached(ctx) {
		j.execute(ctx)
	}
	j.close(ctx)
}

// check looks at the request before anything is done for it.
func (j *job) check() error {
	r := &j.req
	if err := r.Limits.Check(); err != nil {
		return err
	}
	if len(r.Args) > 0 && !jsonscan.Valid(r.Args) {
		return fault.New(fault.UsageFlag, "args is not JSON")
	}
	if r.Plugin != "" {
		if r.Code != "" || r.Session != "" {
			return fault.New(fault.UsageFlag, "a plugin takes neither code nor a session")
		}
		if r.Function == "" {
			return fault.New(fault.UsageFlag, "no function of the plugin is named")
		}
		var err error
		j.foreign, err = readPlugin(r.Plugin, r.PluginDigest)
		return err
	}
	name, err := Language(r.Language)
	if err != nil {
		return err
	}
	r.Language = name
	return j.allowed(name)
}

// allowed asks the policy about a language.
func (j *job) allowed(language string) error {
	d := j.table.Policy().DecideLanguage(language)
	if d.Effect == policy.Allow {
		return nil
	}
	return fault.New(fault.DeniedLanguage, "programs in %s are not allowed: %s", language, d.Message).WithHint("decided by %s", d.Rule)
}

// open records the start, from which on the run has a ledger of its own.
func (j *job) open(ctx context.Context) error {
	r := &j.req
	j.began = newClock(r.Deterministic).start
	start := audit.Start{
		Version: j.e.config.Version, Language: r.Language, File: r.File, Plugin: r.Plugin, Function: r.Function,
		Code: []byte(r.Code), Args: audit.Blob(r.Args), Argv: r.Argv, Input: r.Input,
		Intent: r.Intent, Trigger: r.trigger(), Actor: audit.Actor{ID: r.Actor.ID, Type: r.Actor.Type},
		Session: r.Session, Deterministic: r.Deterministic, Clock: j.began, Offers: j.offers(),
		GuestSHA256: j.e.guests.digest(r.Language),
	}
	if r.Plugin != "" {
		start.GuestSHA256 = digest(j.foreign)
	}
	for name, value := range j.env() {
		start.Env = append(start.Env, name+"="+value)
	}
	slices.Sort(start.Env)
	switch {
	case r.Deterministic:
		start.Seed = seedBytes(r.Seed)
	case j.rec == nil:
		_, _ = rand.Read(j.seed[:])
		start.Seed = j.seed[:]
	}
	j.res.Provenance = Provenance{Code: digest([]byte(r.Code)), Args: digest(r.Args),
		Policy: j.table.Policy().Digest(), Guest: start.GuestSHA256}
	var shared *hostfns.Session
	if j.session != nil {
		shared = j.session.shared
	}
	j.seen.root = r.Root
	tools, err := j.table.Open(ctx, hostfns.RunInfo{
		ID: j.res.RunID, Session: shared, Start: start, Limits: r.Limits, Asker: r.Asker, Root: r.Root, Packages: r.Packages, Dir: r.Dir, DryRun: r.DryRun,
		Progress: func(p hostfns.Progress) {
			j.event(Event{Type: EventProgress, Text: p.Text, Done: p.Done, Total: p.Total})
		},
		Calling: func(c hostfns.CallInfo) {
			j.event(Event{Type: EventCalling, Text: c.Tool, Number: c.Number})
		},
		Called: func(c hostfns.CallInfo) {
			one := callOf(c)
			j.event(Event{Type: EventCall, Call: &one, Number: c.Number})
		},
	})
	if err != nil {
		return err
	}
	j.tools = tools
	j.limits = tools.Limits()
	return nil
}

// execute gets the program a core and an instance, and runs it.
func (j *job) execute(ctx context.Context) {
	j.e.sessions.relieve()
	err := j.e.cores.enter(ctx, j.req.Actor.ID, func(before int) {
		j.event(Event{Type: EventQueued, Count: before})
	})
	if err != nil {
		j.failIn(ctx, err)
		return
	}
	r := &run{ctx: ctx, limits: j.limits, tools: j.tools, cores: j.e.cores, core: true, ledger: &j.e.ledger, relieve: j.e.sessions.relieve,
		tank: meter.Tank{Budget: j.limits.Fuel}}
	j.run = r
	defer func() {
		if r.core {
			r.core = false
			j.e.cores.leave()
		}
		j.e.cores.done()
	}()
	if j.req.Plugin != "" {
		j.runPlugin(r)
		return
	}
	j.runProgram(r)
}

// fail notes why the job failed. The first reason holds.
func (j *job) fail(err error) {
	if j.fault != nil || j.guestErr != nil || err == nil {
		return
	}
	j.fault = faultOf(err)
}

// failIn is fail for an error that may stem from the end of the context.
func (j *job) failIn(ctx context.Context, err error) {
	if f := interrupted(ctx); f != nil {
		err = f
	}
	j.fail(err)
}

// event tells the request's listener.
func (j *job) event(e Event) {
	if j.req.Progress == nil {
		return
	}
	j.eventMu.Lock()
	defer j.eventMu.Unlock()
	e.Run, e.Time, e.Fuel = j.res.RunID, time.Now().UTC(), j.fuel.Load()
	j.req.Progress(e)
}

// done ends the job.
func (j *job) done() (*Result, error) {
	if j.res.Error == nil && (j.fault != nil || j.guestErr != nil) {
		j.res.Error = j.failure()
	}
	j.res.Status = statusOf(j.res.Error)
	j.event(Event{Type: EventDone, Text: string(j.res.Status)})
	if j.res.Error != nil {
		return j.res, j.res.Error
	}
	return j.res, nil
}

func (r *Request) trigger() string {
	if r.Trigger == "" {
		return "api"
	}
	return r.Trigger
}

// digest is the SHA-256 of some bytes in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// words lists names for a sentence.
func words(list []string) string {
	out := ""
	for i, w := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			out += " and "
		default:
			out += ", "
		}
		out += w
	}
	return out
}
