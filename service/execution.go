package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/service/metrics"
	"github.com/wexec/wexec/store"
)

// executor executes runs under leases.
type executor struct {
	o        Options
	engine   *engine.Engine
	tenants  *tenants
	owner    string // of leases
	command  bool   // the runs are those of a command, which claims no others
	watchers watchers
	metrics  metrics.Set

	ctx    context.Context // ends with the service
	stop   context.CancelCauseFunc
	ending sync.WaitGroup

	mu       sync.Mutex
	running  map[runKey]*execution
	reserved int // places for runs that are about to begin
	draining bool
	hungry   bool          // runs may wait in the store for a place of this process
	room     chan struct{} // receives when a run that waits may begin
}

// claimEvery is how often a process with room looks for runs that wait, and pollEvery
// how often the store is asked about what another process does.
const (
	claimEvery = time.Second
	pollEvery  = time.Second
)

// newExecutor makes an executor. Call start to execute what waits in the store.
func newExecutor(ctx context.Context, o Options, e *engine.Engine, all *tenants) *executor {
	s := &executor{o: o, engine: e, tenants: all, owner: rand.Text(), running: map[runKey]*execution{}, room: make(chan struct{}, 1)}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// start executes what waits in the store, until the executor is closed.
func (s *executor) start() { s.ending.Go(s.work) }

// drain takes no more work and waits until the runs of this process have ended, or
// the context, after which they are cancelled.
func (s *executor) drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	for _, x := range s.running {
		if x.canGoOn() && x.asks() {
			x.cancel(errStopped)
		}
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		var next *execution
		for _, x := range s.running {
			next = x
			break
		}
		s.mu.Unlock()
		if next == nil {
			return
		}
		select {
		case <-next.done:
		case <-ctx.Done():
			s.stop(errStopped)
			<-next.done
		}
	}
}

func errLost() error {
	return fault.New(fault.StoreUnavailable, "another process took over the run, since this one did not renew its lease in time")
}

// errStopped is why runs end that go on in another process, or not at all.
var errStopped = fault.New(fault.Cancelled, "the server stopped")

func (s *executor) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// close cancels what runs and waits for its end.
func (s *executor) close() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.drain(ended)
	s.stop(errStopped)
	s.ending.Wait()
}

// execution is a run that this process executes under a lease.
type execution struct {
	s      *executor
	lease  store.Lease // tenant, id, owner and fence do not change
	run    store.Run
	tenant *Tenant
	ctx    context.Context
	cancel context.CancelCauseFunc
	given  *engine.Request // of a caller in this process; nil: the stored request
	other  hostfns.Asker   // of that caller; or nil
	asked  request
	stored request // what the store has of it
	broken error   // why the stored request cannot be read
	done   chan struct{}

	journal *journal
	keeps   atomic.Bool // the run has a journal
	signals *signals
	before  told // what the events of the processes before have

	// When done is closed:
	res      *engine.Result
	err      error
	recorded bool // the end is in the store
	issued   []privacy.Issued

	flushing sync.Mutex

	mu      sync.Mutex
	events  []store.Event     // that are not written yet
	size    int               // bytes of their data
	writing *time.Timer       // writes them soon; nil if no event waits
	failing bool              // the store is away: they wait for it, at most maxUnwritten bytes
	open    map[string]posted // questions without an answer
	left    []posted          // questions that the engine no longer asks
}

// Events are written together, after flushAfter or at flushSize bytes.
const (
	flushAfter   = 100 * time.Millisecond
	flushSize    = 16 << 10
	maxUnwritten = 1 << 20
)

// reserve takes a place for a run of this process. It returns the owner of the
// lease, or "" if the run has to wait in the store.
func (s *executor) reserve() (owner string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return "", fault.New(fault.LimitBusy, "the server is stopping").WithHint("send the request again in some seconds")
	}
	if len(s.running)+s.reserved >= s.o.Running {
		s.hungry = true
		return "", nil
	}
	s.reserved++
	return s.owner, nil
}

// release gives back a place that no run took.
func (s *executor) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved--
}

// begin executes a run whose place is reserved. given is the request if its caller is
// in this process.
func (s *executor) begin(lease store.Lease, run store.Run, given *engine.Request) *execution {
	x := &execution{s: s, lease: lease, run: run, given: given, tenant: s.tenants.get(lease.Tenant), done: make(chan struct{}),
		open: map[string]posted{}}
	x.ctx, x.cancel = context.WithCancelCause(s.ctx)
	key := runKey{lease.Tenant, lease.ID}
	x.journal = &journal{store: s.o.Store, keys: s.o.Keys, lease: lease, lost: func() { x.cancel(errLost()) }}
	x.signals = &signals{store: s.o.Store, keys: s.o.Keys, tenant: lease.Tenant, run: lease.ID, awaited: map[string]int{},
		watch: func() (<-chan struct{}, func()) { return s.watchers.watch(key) }}
	x.asked, x.stored, x.broken = s.o.Keys.requestOf(x.ctx, run)
	s.mu.Lock()
	s.reserved--
	s.running[key] = x
	s.mu.Unlock()
	s.ending.Go(func() {
		renewed := make(chan struct{})
		go func() {
			defer close(renewed)
			x.renew()
		}()
		x.execute()
		x.cancel(nil)
		<-renewed
		s.mu.Lock()
		delete(s.running, key)
		hungry := s.hungry
		s.mu.Unlock()
		close(x.done)
		s.watchers.wake(key)
		if hungry {
			s.look()
		}
	})
	return x
}

// execution returns a run of this process, or nil.
func (s *executor) execution(tenant, id string) *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[runKey{tenant, id}]
}

// work executes runs that wait in the store, as long as there is room.
func (s *executor) work() {
	ticks := time.NewTicker(claimEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-s.room:
		case <-s.ctx.Done():
			return
		}
		for s.claim() {
		}
	}
}

// claim begins one run that waits. It reports whether there may be more.
func (s *executor) claim() bool {
	owner, err := s.reserve()
	if err != nil || owner == "" {
		return false
	}
	lease, ok, err := s.o.Store.Claim(s.ctx, store.KindRun, owner)
	if err == nil && !ok && s.roomForTask() {
		lease, ok, err = s.o.Store.Claim(s.ctx, store.KindTask, owner)
	}
	if err != nil || !ok {
		s.release()
		s.sated()
		if err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("cannot look for runs that wait", "error", err)
		}
		return false
	}
	run, err := s.o.Store.Run(s.ctx, lease.Tenant, lease.ID)
	if err != nil {
		s.release()
		s.o.Logger.Error("cannot read a run that waits", "run", lease.ID, "error", err)
		return false
	}
	s.begin(lease, run, nil)
	return true
}

// look makes the process look soon for runs that wait in the store.
func (s *executor) look() {
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// sated notes that no run waits in the store.
func (s *executor) sated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hungry = false
}

// renew keeps the lease until the run ends. A run whose lease is lost, or that was
// cancelled elsewhere, is cancelled.
func (x *execution) renew() {
	ticks := time.NewTicker(store.RenewTime)
	defer ticks.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-ticks.C:
		}
		held, err := x.s.o.Store.Renew(x.ctx, x.lease)
		switch {
		case errors.Is(err, store.ErrLost):
			x.cancel(errLost())
			return
		case err != nil:
			x.s.o.Logger.Warn("cannot renew the lease of a run", "run", x.lease.ID, "error", err)
		case held.Cancelled:
			x.cancel(fault.New(fault.Cancelled, "the run was cancelled"))
			return
		}
		if _, err := x.s.o.Store.Within(x.ctx, x.s.tenants.accounts(x.run, x.asked.Quotas)...); errors.Is(err, fault.LimitQuota) {
			x.cancel(err)
			return
		}
	}
}

// execute runs the program and records its end.
func (x *execution) execute() {
	x.res, x.err = x.result()
	goesOn := x.goesOn()
	if !goesOn {
		x.s.metrics.Ended(x.run.Language, x.res)
	}
	x.withdrawLeft(goesOn)
	x.flushing.Lock() // the end is after all events
	defer x.flushing.Unlock()
	events := x.take()
	kept := x.res
	if x.s.command {
		kept = redactedResult(x.tenant.Table().Redact, *kept)
	}
	outcome, encodeErr := outcomeOf(kept, x.err)
	if encodeErr != nil {
		outcome = store.Outcome{Status: string(engine.StatusError), Code: fault.Internal, Error: encodeErr.Error()}
	}
	outcome.Accounts = x.s.tenants.accounts(x.run, x.asked.Quotas)
	// The run has happened, even if its caller has given up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), endTimeout)
	defer cancel()
	var err error
	if outcome.Vault, outcome.Subjects, err = x.s.o.Keys.vaultOf(ctx, x.lease.Tenant, x.lease.ID, x.issued); err != nil {
		x.s.o.Logger.Error("cannot keep the values of a run", "run", x.lease.ID, "error", err)
	}
	if err := dropText(x.stored, *kept, &outcome); err != nil {
		x.s.o.Logger.Error("cannot encode what is kept of a run", "run", x.lease.ID, "error", err)
	}
	for {
		err := x.write(ctx, goesOn, outcome, events)
		if x.recorded = err == nil; x.recorded {
			return
		}
		x.s.o.Logger.Error("cannot record the end of a run in this process", "run", x.lease.ID, "error", err)
		if !errors.Is(err, fault.StoreUnavailable) {
			return
		}
		select {
		case <-time.After(endAgain): // the lease is renewed meanwhile
		case <-ctx.Done():
			return
		case <-x.s.ctx.Done():
			return
		}
	}
}

// endTimeout bounds how long the end of a run is tried to be recorded, and endAgain is
// the pause before the next attempt.
const (
	endTimeout = 30 * time.Second
	endAgain   = 500 * time.Millisecond
)

// ended reports whether the run has ended in this process; x may be nil.
func (x *execution) ended() bool {
	if x == nil {
		return false
	}
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// asks reports whether the run waits for people.
func (x *execution) asks() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.open) > 0
}

// result runs the program.
func (x *execution) result() (*engine.Result, error) {
	run, asked := x.run, x.asked
	refused := func(err error) (*engine.Result, error) { return refusalOf(run, causeOf(x.ctx, err)) }
	fuel, err := x.allowed()
	switch {
	case x.tenant == nil:
		return refused(fault.New(fault.UsageConfig, "this server has no tenant %s", run.Tenant))
	case x.broken != nil:
		return refused(fault.New(fault.StoreUnavailable, "read the program of the run: %w", x.broken))
	case err != nil:
		return refused(err)
	case x.lease.Cancelled:
		return refused(fault.New(fault.Cancelled, "the run was cancelled before it started"))
	}
	var records [][]byte
	if !x.s.command && x.lease.Fence > 1 {
		records, err = x.records()
	}
	switch {
	case err != nil:
		return refused(err)
	case x.isLost(records):
		// What it did before is not known, so it does not run twice.
		return refused(fault.New(fault.Cancelled, "the process that ran the program stopped").WithHint("run the program again if its effects may happen twice"))
	}
	ctx := telemetry.WithParent(x.ctx, asked.Parent)
	if x.given != nil {
		req := x.joined(*x.given)
		req.Tenant = run.Tenant
		if err := x.endure(&req, nil, 0); err != nil { // its caller waits in this process
			return refused(err)
		}
		req.Limits = within(req.Limits, fuel)
		res, err := x.s.engine.Run(ctx, req)
		x.price(res, req)
		return spentUp(res, err, x.given.Limits, fuel)
	}
	table, err := x.tenant.tableFor(config.Subset{Tools: asked.Tools, Profile: asked.Profile})
	if err != nil {
		return refused(err)
	}
	p, limits := asked.Program, x.tenant.Limits(asked.Limits)
	req := engine.Request{
		ID: run.ID, Language: p.Language, Code: p.Code, File: p.File, Args: p.Args, Argv: p.Argv, Intent: p.Intent, Limits: within(limits, fuel),
		Deterministic: p.Deterministic, Seed: p.Seed, Cache: p.Cache, Session: p.Session, Input: []byte(p.Input), DryRun: p.Dry,
		Actor: asked.By, Trigger: asked.Trigger, Tenant: run.Tenant, Table: table, Env: x.tenant.env, Asker: x, Progress: x.progress, Issued: x.keep,
	}
	done, err := x.lend(&req)
	if err != nil {
		return refused(err)
	}
	defer done()
	if err := x.endure(&req, records, x.tenant.settings.ParkAfter); err != nil {
		return refused(err)
	}
	res, err := x.s.engine.Run(ctx, req)
	x.price(res, req)
	return spentUp(res, err, limits, fuel)
}

// price puts the cost of a run into its result.
func (x *execution) price(res *engine.Result, req engine.Request) {
	if res != nil && x.tenant != nil && !x.s.command {
		written := engine.EstimateTokens([]byte(req.Code)) + engine.EstimateTokens(req.Args)
		res.Usage.Cost = x.s.tenants.prices.cost(cmp.Or(x.asked.Model, x.tenant.settings.Model), written, req.Table, res.Usage)
	}
}

// joined is the request of a caller in this process, whose asker and progress are
// those of the API as well.
func (x *execution) joined(req engine.Request) engine.Request {
	progress := req.Progress
	req.Progress = func(e engine.Event) {
		x.progress(e)
		if progress != nil {
			progress(e)
		}
	}
	req.Issued = x.keep
	if !x.s.command { // which asks people itself
		x.other, req.Asker = req.Asker, x
	}
	if req.Input == nil && req.Stdin == nil {
		req.Input = []byte{} // as in the stored request: the journal is of one program
	}
	return req
}

// keep keeps the values of the run's tokens until its end is recorded.
func (x *execution) keep(issued []privacy.Issued) { x.issued = issued }

// progress records the events of the run that clients see.
func (x *execution) progress(e engine.Event) {
	switch e.Type {
	case engine.EventOutput:
		if x.s.command {
			e.Text = x.tenant.Table().Redact(e.Text)
		}
		x.recordText("output", struct {
			Stream string `json:"stream"`
			Text   string `json:"text"`
		}{e.Stream, e.Text})
	case engine.EventCall:
		if x.before.calls[e.Number] {
			return
		}
		x.recordText("call", struct {
			Number uint64 `json:"number"`
			*engine.Call
		}{e.Number, e.Call})
	}
}

// recordText adds an event, or its digest if the policy keeps no text.
func (x *execution) recordText(kind string, data any) {
	if x.stored.Digests == nil {
		x.record(kind, data)
		return
	}
	text, err := json.Marshal(data)
	if err != nil {
		text = nil
	}
	x.record(kind, struct {
		Digest string `json:"sha256"`
	}{textDigest(string(text))})
}

// record adds an event to those that are written next.
func (x *execution) record(kind string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		x.s.o.Logger.Error("cannot encode an event", "run", x.lease.ID, "error", err)
		return
	}
	x.mu.Lock()
	if x.failing && x.size+len(encoded) > maxUnwritten {
		x.mu.Unlock()
		return // the result of the run has its output
	}
	x.events = append(x.events, store.Event{At: time.Now(), Type: kind, Data: encoded})
	x.size += len(encoded)
	full := x.size >= flushSize && !x.failing
	if !full && x.writing == nil {
		x.writing = time.AfterFunc(flushAfter, x.flush)
	}
	x.mu.Unlock()
	if full {
		x.flush()
	}
}

// flush writes the events that wait. Flushes follow one another, so that the order
// of the events is kept.
func (x *execution) flush() {
	x.flushing.Lock()
	defer x.flushing.Unlock()
	events := x.take()
	if len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), endTimeout)
	defer cancel()
	err := x.s.o.Store.Append(ctx, x.lease, events...)
	if err != nil {
		x.s.o.Logger.Error("cannot record events of a run", "run", x.lease.ID, "error", err)
	}
	away := errors.Is(err, fault.StoreUnavailable) && !store.MayBeWritten(err)
	x.mu.Lock()
	if x.failing = away; away {
		x.back(events)
	}
	x.mu.Unlock()
	if errors.Is(err, store.ErrLost) {
		x.cancel(errLost())
	}
	x.s.watchers.wake(runKey{x.lease.Tenant, x.lease.ID})
}

// back puts events that could not be written before those that wait, and tries again
// soon. The caller holds mu.
func (x *execution) back(events []store.Event) {
	x.events = append(events, x.events...)
	x.size = 0
	for i, e := range x.events {
		if x.size+len(e.Data) > maxUnwritten {
			x.events = x.events[:i]
			break
		}
		x.size += len(e.Data)
	}
	if x.writing != nil {
		x.writing.Stop()
	}
	x.writing = time.AfterFunc(endAgain, x.flush)
}

// take returns the events that wait, and stops the timer that would write them.
func (x *execution) take() []store.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	events := x.events
	x.events, x.size = nil, 0
	if x.writing != nil {
		x.writing.Stop()
		x.writing = nil
	}
	return events
}
