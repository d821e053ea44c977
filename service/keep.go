package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// triggerCommand is the trigger of runs that a command executes.
const triggerCommand = "cli"

// Keeper runs the programs of a command and keeps the runs in a store, which servers
// and other commands may use at the same time. It executes no run of another process.
type Keeper struct {
	runs   *executor
	store  *store.Store
	engine *engine.Engine
	log    *slog.Logger
	tenant *Tenant
}

// OpenKeeper opens the user's store for a command. A store that does not exist is
// created; one of an older version is refused, since a server may use it.
func OpenKeeper(ctx context.Context, env *config.Environment, settings *config.Settings, host *config.Host, logger *slog.Logger) (*Keeper, error) {
	data, err := env.DataDir("")
	if err != nil {
		return nil, err
	}
	address, err := env.Store("", data)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil { // for the seal key
		return nil, fault.New(fault.UsageStore, "make the data folder: %w", err)
	}
	s, err := store.Open(ctx, address, store.Options{NoUpgrade: true})
	if err != nil {
		return nil, err
	}
	keys, err := OpenKeys(ctx, s, env, data, "")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	own := *settings
	own.Quotas = config.Quotas{} // those are for tenants of servers
	t := &Tenant{Name: DefaultTenant, settings: &own, host: host}
	e := newExecutor(ctx, Options{Store: s, Keys: keys, Logger: logger, Running: 1}, host.Engine, &tenants{all: map[string]*Tenant{t.Name: t}})
	e.command = true
	return &Keeper{runs: e, store: s, engine: host.Engine, log: logger, tenant: t}, nil
}

// Run runs a program as the engine does, with the same result, and keeps the run. The
// person at the terminal may have typed personal data, so what is kept of the request
// is redacted as far as the policy says.
func (k *Keeper) Run(ctx context.Context, req engine.Request) (*engine.Result, error) {
	req.ID = cmp.Or(req.ID, engine.NewID())
	kept := redacted(k.tenant.Table().Redact, req)
	run, asked, err := runOf(ctx, Principal{Token: store.Token{Tenant: k.tenant.Name}}, kept)
	if err != nil {
		return refusal(req.ID, err)
	}
	return k.runs.attend(ctx, run, asked, req)
}

// accept saves a run, without its text if the policy keeps none. Such a run does not
// wait in the store, since another process could not give the result to the caller.
func (s *executor) accept(ctx context.Context, run *store.Run, asked request, owner string, i store.Idempotency, accounts ...store.Account) (store.Accepted, error) {
	t := s.tenants.get(run.Tenant)
	if owner != "" && t != nil && asked.Workspace == "" && s.endures(asked.Session, asked.Dry, t.Table()) {
		asked.Journal = firstFence
		var err error
		if run.Request, err = json.Marshal(asked); err != nil {
			return store.Accepted{}, fault.New(fault.UsageFlag, "read the request: %w", err)
		}
	}
	if t != nil && !t.Table().Policy().Keep() {
		if owner == "" {
			return store.Accepted{}, fault.New(fault.LimitBusy, "the server runs as many programs as it may, and the policy does not let this one wait in the store").WithHint("try again later")
		}
		if err := s.o.Keys.withoutText(ctx, run); err != nil {
			return store.Accepted{}, err
		}
	}
	return s.o.Store.Accept(ctx, *run, owner, i, accounts...)
}

// firstFence is the fence of the lease of a run that is executed as soon as it is
// accepted.
const firstFence = 1

// attend executes a run for a caller who waits for its end, and ends it with the
// caller.
func (s *executor) attend(ctx context.Context, run store.Run, asked request, req engine.Request, accounts ...store.Account) (*engine.Result, error) {
	owner, err := s.reserve()
	if err == nil && owner == "" {
		err = fault.New(fault.LimitBusy, "the server runs as many programs as it may").WithHint("try again later")
	}
	if err != nil {
		return refusal(run.ID, err)
	}
	accepted, err := s.accept(ctx, &run, asked, owner, store.Idempotency{}, accounts...)
	if err != nil {
		s.release()
		return refusal(run.ID, err)
	}
	run.Created, accepted.Lease.Late = accepted.Created, s.command
	x := s.begin(accepted.Lease, run, &req)
	defer context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })()
	<-x.done
	return x.res, x.err
}

// Close cancels what runs, removes the runs of commands that are too old, and closes
// the store.
func (k *Keeper) Close() error {
	k.runs.close()
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	_, err := k.store.PruneCommands(ctx, k.tenant.Name, time.Now().Add(-k.tenant.settings.Retention))
	if err = errors.Join(err, EndLost(ctx, k.store, k.tenant.Name, time.Now().Add(-forgotten))); err != nil {
		k.log.Warn("cannot remove what is no longer kept", "error", err)
	}
	return k.store.Close()
}

// forgotten is how long a run of a command that has died is kept as running if no
// command reads the store.
const forgotten = 24 * time.Hour

// EndLost ends the runs of commands that died: those whose leases expired before a time.
func EndLost(ctx context.Context, in *store.Store, tenant string, before time.Time) error {
	lost, err := in.LostRuns(ctx, tenant, before)
	if err != nil {
		return err
	}
	for _, id := range lost {
		run, err := in.Run(ctx, tenant, id)
		if errors.Is(err, fault.UsageRun) {
			continue // it was deleted
		}
		if err == nil {
			err = endLost(ctx, in, run, func(r request) bool { return r.Trigger == triggerCommand })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CancelKept ends a run of a tenant in a store. The process that executes it learns of
// it when it renews its lease. A run that no process executes ends at once. It
// reports whether the run had not ended yet.
func CancelKept(ctx context.Context, in *store.Store, tenant, id string) (bool, error) {
	run, err := in.Run(ctx, tenant, id)
	if err != nil {
		return false, err
	}
	ok, err := in.Cancel(ctx, tenant, id)
	if err != nil || !ok {
		return false, err
	}
	return true, endLost(ctx, in, run, func(request) bool { return true })
}

// endLost ends a run whose lease has expired, if it is one of those that are meant.
func endLost(ctx context.Context, in *store.Store, run store.Run, meant func(request) bool) error {
	var asked request
	if err := json.Unmarshal(run.Request, &asked); len(run.Request) > 0 && err != nil {
		return fault.New(fault.StoreUnavailable, "read the request of run %s: %w", run.ID, err)
	}
	if !meant(asked) {
		return nil
	}
	lease, lost, err := in.ClaimLost(ctx, run.Tenant, run.ID, rand.Text())
	if err != nil || !lost {
		return err
	}
	stopped := fault.New(fault.Cancelled, "the process that ran the program stopped")
	if run.State == store.StateParked || run.State == store.StateQueued {
		stopped = fault.New(fault.Cancelled, "the run was cancelled")
	}
	res, _ := refusalOf(run, stopped)
	outcome, err := outcomeOf(res, stopped)
	if err = errors.Join(err, dropText(asked, *res, &outcome)); err != nil {
		return err
	}
	return in.End(ctx, lease, outcome)
}
