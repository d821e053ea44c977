package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// Submission is a request for a run.
type Submission struct {
	Program Program
	Key     string // of the client, so that a request sent twice is one run; may be empty
	Trigger string // api or mcp
}

// keepKeys is how long a client's keys are known.
const keepKeys = 24 * time.Hour

// Submit accepts a run and returns it when it has ended, when it waits for people, or
// after some time. It is executed with or without its caller.
func (s *Service) Submit(ctx context.Context, who Principal, sub Submission, wait time.Duration) (*Run, error) {
	if err := sub.Program.check(); err != nil {
		return nil, err
	}
	if err := s.checkWorkspace(who, sub.Program.Workspace); err != nil {
		return nil, err
	}
	if len(sub.Key) > maxName {
		return nil, fault.New(fault.UsageFlag, "the idempotency key has more than %d bytes", maxName)
	}
	asked := request{Program: sub.Program, By: who.Actor(), Tools: who.Tools, Profile: who.Profile, Trigger: sub.Trigger, Quotas: who.Quotas, Model: who.Model}
	stored, digest, err := asked.stored(ctx)
	asked.Parent = telemetry.Parent(ctx)
	if err != nil {
		return nil, err
	}
	run := store.Run{Tenant: who.Tenant, ID: engine.NewID(), Actor: who.Actor().ID, Token: who.ID, Language: sub.Program.Language,
		Session: sub.Program.Session, Intent: sub.Program.Intent, Program: sub.Program.Code, Request: stored}
	owner, err := s.runs.reserve()
	if err != nil {
		return nil, err
	}
	// The answer to most runs is their end. A client with a key may ask again before it.
	run.Deferred = owner != "" && wait > 0 && sub.Key == ""
	accepted, err := s.runs.accept(ctx, &run, asked, owner, store.Idempotency{Key: sub.Key, Digest: digest, Keep: keepKeys}, s.tenants.accounts(run, who.Quotas)...)
	var here *execution
	switch {
	case owner == "":
		s.runs.look()
	case err != nil || accepted.Again:
		s.runs.release()
	default:
		run.Created = accepted.Created
		here = s.runs.begin(accepted.Lease, run, nil)
	}
	if err != nil {
		return nil, err
	}
	answer, err := s.wait(ctx, who, accepted.ID, here, wait)
	if err == nil && run.Deferred && answer.State != store.StateDone {
		// A run that has ended meanwhile has no lease, and is on disk.
		if _, err := s.o.Store.Renew(ctx, accepted.Lease); err != nil && !errors.Is(err, store.ErrLost) {
			return nil, err
		}
	}
	return answer, err
}

// checkWorkspace refuses a workspace that a program cannot use; empty means no workspace.
func (s *Service) checkWorkspace(who Principal, id string) error {
	if id == "" {
		return nil
	}
	all, err := s.Workspaces(who)
	if err != nil {
		return err
	}
	return all.Check(id)
}

// Run runs a program of a principal for a caller in this process, such as the MCP
// server, and keeps it as the API does. People are asked by the request's asker and
// over the API.
func (s *Service) Run(ctx context.Context, who Principal, req engine.Request) (*engine.Result, error) {
	run, asked, err := runOf(ctx, who, req)
	if err != nil {
		return refusal(req.ID, err)
	}
	return s.runs.attend(ctx, run, asked, req, s.tenants.accounts(run, asked.Quotas)...)
}

// shown is the run after its end, as clients see it.
func (x *execution) shown() *Run {
	r := &Run{Result: *x.res, State: store.StateDone, Actor: x.run.Actor, Language: x.run.Language, Intent: x.run.Intent, Code: x.run.Program}
	if x.stored.Digests != nil {
		r.Digests = &Digests{textDigest(x.res.Stdout), textDigest(x.res.Stderr)}
	}
	r.Started = x.run.Created
	return r
}

// Get returns a run of the principal's tenant.
func (s *Service) Get(ctx context.Context, who Principal, id string) (*Run, error) {
	return Kept(ctx, s.o.Store, who.Tenant, id)
}

// ProgramOf returns the program of a run of the principal's tenant, with its arguments
// and limits, to run it again.
func (s *Service) ProgramOf(ctx context.Context, who Principal, id string) (Program, error) {
	stored, err := s.o.Store.Run(ctx, who.Tenant, id)
	if err != nil {
		return Program{}, err
	}
	var asked request
	if err := json.Unmarshal(stored.Request, &asked); err != nil {
		return Program{}, fault.New(fault.StoreUnavailable, "read the program of run %s: %w", id, err)
	}
	if asked.Digests != nil {
		return Program{}, fault.New(fault.UsageConflict, "the policy keeps no text, so the store does not have the program of run %s", id).WithHint("send the program again")
	}
	return asked.Program, nil
}

// Owned is a run that a principal started over MCP.
type Owned struct {
	*Run
	Created, Updated time.Time
}

// Own returns a run that the principal started over MCP through its profile. Any
// other is unknown.
func (s *Service) Own(ctx context.Context, who Principal, id string) (o Owned, err error) {
	stored, err := s.o.Store.Run(ctx, who.Tenant, id)
	if err != nil {
		return o, err
	}
	var asked request
	if err := json.Unmarshal(stored.Request, &asked); err != nil {
		return o, fault.New(fault.StoreUnavailable, "read the program of run %s: %w", id, err)
	}
	if stored.Token != who.ID || asked.Trigger != "mcp" || asked.Profile != who.Profile {
		return o, fault.New(fault.UsageRun, "the principal has no run %.60q", id)
	}
	o.Created, o.Updated = stored.Created, stored.Created
	for _, at := range []time.Time{stored.Started, stored.Ended} {
		if at.After(o.Updated) {
			o.Updated = at
		}
	}
	o.Run, err = view(ctx, s.o.Store, stored)
	return o, err
}

// Kept returns a run of a tenant from a store, which other processes may serve.
func Kept(ctx context.Context, from *store.Store, tenant, id string) (*Run, error) {
	stored, err := from.Run(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return view(ctx, from, stored)
}

// view returns a stored run as clients see it.
func view(ctx context.Context, from *store.Store, stored store.Run) (*Run, error) {
	r := &Run{State: stored.State, Actor: stored.Actor, Language: stored.Language, Intent: stored.Intent}
	result := stored.Result
	if len(result) == 0 {
		result = stored.Summary
	}
	if len(result) > 0 {
		if err := json.Unmarshal(result, &r.Result); err != nil {
			return nil, fault.New(fault.StoreUnavailable, "read the result of run %s: %w", stored.ID, err)
		}
	}
	if len(stored.Request) > 0 {
		var asked request
		if err := json.Unmarshal(stored.Request, &asked); err != nil {
			return nil, fault.New(fault.StoreUnavailable, "read the program of run %s: %w", stored.ID, err)
		}
		r.Code, r.Digests = asked.Code, asked.Digests
	}
	r.RunID, r.Started = stored.ID, stored.Started
	if r.Started.IsZero() {
		r.Started = stored.Created
	}
	if stored.State != store.StateDone {
		r.Status, r.Waiting = engine.Status(stored.State), nil
		if stored.State == store.StateParked {
			r.Status = engine.StatusWaiting
		} else {
			r.Parked = nil
		}
		if stored.State == store.StateWaiting || stored.State == store.StateParked {
			var err error
			if r.Waiting, err = waitingOf(ctx, from, stored); err != nil {
				return nil, err
			}
		}
	} else if r.Status == "" {
		r.Status = engine.Status(stored.Status)
		if stored.Code != "" {
			r.Error = &engine.Error{Code: stored.Code, Class: stored.Code.Class()}
		}
	}
	return r, nil
}

// List returns the newest runs of the principal's tenant that a filter selects, and
// the cursor of the next page.
func (s *Service) List(ctx context.Context, who Principal, f store.Filter) (runs []*Run, next string, err error) {
	return KeptRuns(ctx, s.o.Store, who.Tenant, f)
}

// KeptRuns returns the newest runs of a tenant from a store, as List does.
func KeptRuns(ctx context.Context, from *store.Store, tenant string, f store.Filter) (runs []*Run, next string, err error) {
	stored, more, err := from.Runs(ctx, tenant, f)
	if err != nil {
		return nil, "", err
	}
	runs = []*Run{}
	for _, r := range stored {
		run, err := view(ctx, from, r)
		if err != nil {
			return nil, "", err
		}
		runs = append(runs, run)
	}
	if more {
		next = stored[len(stored)-1].ID
	}
	return runs, next, nil
}

// Wait returns a run when it has ended, when it waits for people, or after some time.
func (s *Service) Wait(ctx context.Context, who Principal, id string, most time.Duration) (*Run, error) {
	return s.wait(ctx, who, id, s.runs.execution(who.Tenant, id), most)
}

// wait is Wait for a run that this process executes, if here is not nil. It asks the
// store only when there is something new.
func (s *Service) wait(ctx context.Context, who Principal, id string, here *execution, most time.Duration) (*Run, error) {
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	for late := most <= 0; ; {
		changed, stop := s.runs.watchers.watch(runKey{who.Tenant, id})
		if here.ended() {
			if here.recorded && !here.goesOn() {
				stop()
				return here.shown(), nil
			}
			here = nil // the store has what another process makes of it
		}
		if late || here == nil || here.asks() {
			run, err := s.Get(ctx, who, id)
			if err != nil || run.State == store.StateDone || run.State == store.StateWaiting || run.State == store.StateParked || late {
				stop()
				return run, err
			}
		}
		var err error
		poll := time.NewTimer(pollEvery) // another process may execute it
		select {
		case <-changed:
		case <-poll.C:
		case <-deadline.C:
			late = true
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		poll.Stop()
		stop()
		if err != nil {
			return nil, err
		}
	}
}

// Cancel ends a run of the principal's tenant. It reports whether the run had not
// ended yet.
func (s *Service) Cancel(ctx context.Context, who Principal, id string) (bool, error) {
	ok, err := CancelKept(ctx, s.o.Store, who.Tenant, id)
	if x := s.runs.execution(who.Tenant, id); x != nil && ok {
		x.cancel(errCancelled(who))
	}
	return ok, err
}

func errCancelled(who Principal) error {
	return fault.New(fault.Cancelled, "%s cancelled the run", who.Actor().ID)
}

// Events returns what happened in a run after a number, and whether that is all
// there will be. If there is nothing yet it waits, at most until a channel is closed.
func (s *Service) Events(ctx context.Context, who Principal, id string, after int64, until <-chan struct{}) (events []store.Event, end bool, err error) {
	for {
		changed, stop := s.runs.watchers.watch(runKey{who.Tenant, id})
		events, end, err = KeptEvents(ctx, s.o.Store, who.Tenant, id, after)
		if len(events) > 0 || end || err != nil {
			stop()
			return events, end, err
		}
		enough := false
		poll := time.NewTimer(pollEvery)
		select {
		case <-changed:
		case <-poll.C:
		case <-until:
			enough = true
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		poll.Stop()
		stop()
		if enough || err != nil {
			return nil, false, err
		}
	}
}

// KeptEvents returns what happened in a run of a tenant after a number, as a store has
// it now, and whether that is all there will be.
func KeptEvents(ctx context.Context, from *store.Store, tenant, id string, after int64) (events []store.Event, end bool, err error) {
	run, err := from.Run(ctx, tenant, id)
	if err != nil {
		return nil, false, err
	}
	if events, err = from.Events(ctx, tenant, id, after, maxEvents); err != nil || len(events) == maxEvents || run.State != store.StateDone {
		return events, false, err
	}
	last := after
	if len(events) > 0 {
		last = events[len(events)-1].Number
	}
	result, err := view(ctx, from, run)
	if err != nil {
		return nil, false, err
	}
	data, err := json.Marshal(result.Result)
	if err != nil {
		return nil, false, fault.New(fault.Internal, "encode the result of run %s: %w", id, err)
	}
	return append(events, store.Event{Number: last + 1, At: run.Ended, Type: "end", Data: data}), true, nil
}

// Signal sends a signal to a run of the principal's tenant that has not ended, and
// returns how many with the name came before. The payload is JSON.
func (s *Service) Signal(ctx context.Context, who Principal, id, name string, payload json.RawMessage) (number int64, err error) {
	switch {
	case name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return 0, fault.New(fault.UsageFlag, "the name of a signal has 1 to %d bytes, without control characters", maxName)
	case len(payload) > MaxSignal:
		return 0, fault.New(fault.LimitArtifact, "the payload of the signal has %d bytes, more than %d", len(payload), MaxSignal).WithHint("put an artifact, and send its id")
	case len(payload) == 0:
		payload = json.RawMessage("null")
	case !json.Valid(payload):
		return 0, fault.New(fault.UsageFlag, "the payload of the signal is not JSON")
	}
	if _, err := s.o.Store.Run(ctx, who.Tenant, id); err != nil {
		return 0, err
	}
	sealed, err := s.o.Keys.sealBytes(ctx, signalPurpose(who.Tenant, id, name), payload)
	if err != nil {
		return 0, err
	}
	if number, err = s.o.Store.AddSignal(ctx, who.Tenant, id, name, sealed); err != nil {
		return 0, err
	}
	s.woken(who.Tenant, id)
	return number, nil
}

// Resume makes a parked run of the principal's tenant go on before what it waits for is
// there, and returns the run. A run that is not parked goes on as it does.
func (s *Service) Resume(ctx context.Context, who Principal, id string) (*Run, error) {
	run, err := s.o.Store.Run(ctx, who.Tenant, id)
	if err != nil {
		return nil, err
	}
	if run.State == store.StateDone {
		return nil, fault.New(fault.UsageConflict, "the run %s has ended", id)
	}
	if _, err := s.o.Store.Wake(ctx, who.Tenant, id); err != nil {
		return nil, err
	}
	s.woken(who.Tenant, id)
	return s.Get(ctx, who, id)
}

// Given is what a run was given, without personal data, and what it may use. It has no
// texts if the policy keeps no texts, or if they are Large.
type Given struct {
	Args   json.RawMessage
	Argv   []string
	Input  string
	Large  int // bytes of the texts, if that is more than people read
	Limits policy.Limits
	Dry    bool
}

// maxGiven bounds the texts that Given searches for personal data.
const maxGiven = 64 << 10

// Given returns what a run of the principal's tenant was given.
func (s *Service) Given(ctx context.Context, who Principal, id string) (g Given, err error) {
	stored, err := s.o.Store.Run(ctx, who.Tenant, id)
	if err != nil {
		return g, err
	}
	var asked request
	if err := json.Unmarshal(stored.Request, &asked); err != nil {
		return g, fault.New(fault.StoreUnavailable, "read the program of run %s: %w", id, err)
	}
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return g, errNoTenant()
	}
	g.Limits, g.Dry = t.Limits(asked.Limits), asked.Dry
	size := len(asked.Args) + len(asked.Input)
	for _, a := range asked.Argv {
		size += len(a)
	}
	if size > maxGiven {
		g.Large = size
		return g, nil
	}
	leave, err := s.core(who)(ctx)
	if err != nil {
		return g, err
	}
	defer leave()
	texts := redacted(t.Table().Redact, engine.Request{Args: asked.Args, Argv: asked.Argv})
	g.Args, g.Argv, g.Input = texts.Args, texts.Argv, t.Table().Redact(asked.Input)
	return g, nil
}
