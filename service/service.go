// Package service is what the doors of a server share: tenants, the tokens of their
// clients, and runs that go on without their caller.
//
// A [Service] executes runs under leases of a store, so that a run which a process
// has lost ends with an error and never runs twice. What it stores and answers has
// tokens in place of personal data.
package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Options configure a [Service]. Store, Data and Env are required.
type Options struct {
	Store   *store.Store
	Data    string // folder of the server: tenants/NAME has the files of a tenant
	Env     *config.Environment
	Version string
	Logger  *slog.Logger // nil discards
	// Running is how many runs this process has at once; further ones wait in the
	// store for any process. Zero is 256.
	Running int
}

const (
	defaultRunning = 256
	// claimEvery is how often a process with room looks for runs that wait.
	claimEvery = time.Second
)

// Service runs programs for the tenants of a server. It is safe for concurrent use.
type Service struct {
	o        Options
	engine   *engine.Engine
	owner    string // of leases
	tenants  tenants
	watchers watchers

	ctx    context.Context // ends with the service
	stop   context.CancelCauseFunc
	ending sync.WaitGroup

	mu       sync.Mutex
	running  map[runKey]*execution
	reserved int // places for runs that are about to begin
	draining bool
	room     chan struct{} // receives when a run has ended
}

// runKey names a run.
type runKey struct{ tenant, id string }

// Open starts a service: it reads the tenants and executes what waits in the store.
// Close it before the store.
func Open(ctx context.Context, o Options) (*Service, error) {
	o.Running = cmp.Or(max(o.Running, 0), defaultRunning)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, owner: rand.Text(), running: map[runKey]*execution{}, room: make(chan struct{}, 1)}
	settings, err := s.tenants.load(o)
	if err != nil {
		return nil, err
	}
	conf := engine.Config{Cache: settings.Cache, Version: o.Version, Logger: o.Logger}
	if s.engine, err = engine.New(ctx, conf); err != nil {
		return nil, err
	}
	if err := s.tenants.open(ctx, o, s.engine); err != nil {
		return nil, errors.Join(err, s.engine.Close())
	}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.ending.Go(s.work)
	return s, nil
}

// Drain stops taking work and waits until the runs of this process have ended, or
// the context, after which they are cancelled.
func (s *Service) Drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
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
			s.stop(fault.New(fault.Cancelled, "the server stopped"))
			<-next.done
		}
	}
}

// Draining reports whether the service takes no more work.
func (s *Service) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Close cancels what runs and frees everything but the store.
func (s *Service) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Drain(ctx)
	s.stop(fault.New(fault.Cancelled, "the server stopped"))
	s.ending.Wait()
	return errors.Join(s.tenants.close(), s.engine.Close())
}

// Engine returns the engine of all tenants.
func (s *Service) Engine() *engine.Engine { return s.engine }

// A Principal is who makes a request, as the token says.
type Principal struct{ store.Token }

// May reports whether the principal has a scope.
func (p Principal) May(scope store.Scope) bool {
	return slices.Contains(p.Scopes, scope) || scope != store.ScopeReveal && slices.Contains(p.Scopes, store.ScopeAdmin)
}

// Actor is on whose behalf the principal's programs run.
func (p Principal) Actor() engine.Actor {
	return engine.Actor{ID: cmp.Or(p.Name, p.ID), Type: p.Type}
}

// Authenticate returns who has a token. An unknown, expired or revoked one is
// [fault.DeniedToken].
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	t, err := s.o.Store.Token(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	if s.tenants.get(t.Tenant) == nil {
		return Principal{}, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	return Principal{t}, nil
}

// Store returns the store of the service.
func (s *Service) Store() *store.Store { return s.o.Store }

// Version returns the version of the server.
func (s *Service) Version() string { return s.o.Version }
