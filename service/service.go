package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/service/chains"
	"github.com/wexec/wexec/service/images"
	"github.com/wexec/wexec/service/metrics"
	"github.com/wexec/wexec/service/webhooks"
	"github.com/wexec/wexec/service/workspaces"
	"github.com/wexec/wexec/store"
)

// Service runs programs for the tenants of a server. It is safe for concurrent use.
type Service struct {
	o       Options
	engine  *engine.Engine
	tenants *tenants
	runs    *executor
	tokens  tokenCache
	rules   sync.Mutex // held while a rule is written
	reading workspaces.Reading

	deletions *deletions
	artifacts *artifacts
	images    *images.Images
	tending   []func() // end the work in the background
}

// Open starts a service: it reads the tenants and executes what waits in the store.
// Close it before the store.
func Open(ctx context.Context, o Options) (_ *Service, err error) {
	o.Running = cmp.Or(max(o.Running, 0), defaultRunning)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Keys == nil {
		if o.Keys, err = OpenKeys(ctx, o.Store, o.Env, o.Data, ""); err != nil {
			return nil, err
		}
	}
	s := &Service{o: o, tenants: &tenants{}, reading: workspaces.NewReading(), deletions: newDeletions(o.Store, o.Keys, o.Data)}
	if s.artifacts, err = openArtifacts(o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.artifacts.blobs.Close())
		}
	}()
	s.deletions.content = s.artifacts.forget
	// A backup may have been restored: what was deleted since is not shown again.
	if err := s.deletions.sync(ctx); err != nil {
		return nil, err
	}
	if _, err := s.deletions.catchUp(ctx); err != nil {
		return nil, err
	}
	settings, err := s.tenants.load(o)
	if err != nil {
		return nil, err
	}
	kept, err := openBlobs(o, "sessions")
	if err != nil {
		return nil, err
	}
	s.images = images.New(o.Store, kept, o.Keys, o.Logger)
	if s.engine, err = engine.New(ctx, engine.Config{Cache: settings.Cache, Version: o.Version, Logger: o.Logger, Tracing: o.Tracing, Images: s.images}); err != nil {
		return nil, errors.Join(err, s.images.Close())
	}
	s.tenants.tools = s.artifactTools
	if err := s.tenants.open(ctx, o, s.engine); err != nil {
		return nil, errors.Join(err, s.engine.Close(), s.images.Close())
	}
	s.deletions.engine = s.engine
	s.tending = []func(){background(ctx, s.images.Run), background(ctx, s.artifacts.tend), background(ctx, s.maintain), background(ctx, s.hooks().Run)}
	s.runs = newExecutor(ctx, o, s.engine, s.tenants)
	s.runs.start()
	return s, nil
}

// background calls a function until end is called, which waits for it.
func background(ctx context.Context, f func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Drain stops taking work and waits until the runs of this process have ended, or
// the context, after which they are cancelled.
func (s *Service) Drain(ctx context.Context) { s.runs.drain(ctx) }

// Draining reports whether the service takes no more work.
func (s *Service) Draining() bool { return s.runs.isDraining() }

// Close cancels what runs and frees everything but the store.
func (s *Service) Close() error {
	s.runs.close()
	err := s.engine.Close() // sessions fall asleep
	for _, end := range s.tending {
		end()
	}
	return errors.Join(err, s.artifacts.blobs.Close(), s.tenants.close(), s.images.Close())
}

// Engine returns the engine of all tenants.
func (s *Service) Engine() *engine.Engine { return s.engine }

// Metrics returns the counts of the runs of this process.
func (s *Service) Metrics() *metrics.Set { return &s.runs.metrics }

// Tenant returns a tenant, or nil.
func (s *Service) Tenant(name string) *Tenant { return s.tenants.get(name) }

// Reload reads the files of the tenants again. Runs in flight keep what they began
// with, plus new denials. A tenant whose files cannot be used keeps its last ones.
// New folders become tenants, and one whose folder is gone takes no more requests.
func (s *Service) Reload(ctx context.Context) error { return s.tenants.reload(ctx, s.o, s.engine) }

// Store returns the store of the service.
func (s *Service) Store() *store.Store { return s.o.Store }

// Version returns the version of the server.
func (s *Service) Version() string { return s.o.Version }

// hooks sends events about approvals to the webhooks of the tenants.
func (s *Service) hooks() *webhooks.Sender {
	return &webhooks.Sender{Store: s.o.Store, Logger: s.o.Logger, Version: s.o.Version,
		Hook: func(tenant string) *webhooks.Hook {
			if t := s.tenants.get(tenant); t != nil {
				return t.hook
			}
			return nil
		},
		Show: func(row store.Approval) (any, error) { return approvalOf(row) }}
}

// maintainEvery is how often a server does what is due.
const maintainEvery = time.Minute

// maintain does what is due until the context ends.
func (s *Service) maintain(ctx context.Context) {
	if err := s.sealAudit(ctx); err != nil && ctx.Err() == nil { // of a process that was killed
		s.o.Logger.Error("cannot seal the audit", "error", err)
	}
	ticks := time.NewTicker(maintainEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		if err := s.Maintain(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.o.Logger.Error("cannot do all that is due", "error", err)
		}
	}
}

// Maintain adds the segments of the audit that were closed to the store, removes the
// runs and the workspaces without changes that are older than what the tenants keep, applies the deletions that
// are not applied to all runs yet, and ends questions that expired in a process that
// died. A server does so each minute.
func (s *Service) Maintain(ctx context.Context, now time.Time) error {
	errs := []error{s.sealAudit(ctx), s.deletions.sync(ctx), s.o.Store.ExpireApprovals(ctx)}
	_, err := s.deletions.catchUp(ctx)
	errs = append(errs, err)
	for _, t := range s.tenants.list() {
		_, err := s.o.Store.Prune(ctx, t.Name, now.Add(-t.settings.Retention))
		_, layersErr := t.layers(s.o).Collect(now.Add(-t.settings.Retention))
		errs = append(errs, err, layersErr)
	}
	return errors.Join(errs...)
}

// archive has the closed segments of the audit logs.
func (s *Service) archive() chains.Archive { return chains.Archive{Store: s.o.Store, Keys: s.o.Keys} }

// sealAudit adds the closed segments of the audit logs of this process to the store.
func (s *Service) sealAudit(ctx context.Context) error {
	var errs []error
	for _, t := range s.tenants.list() {
		_, err := s.archive().Seal(ctx, t.Name, t.settings.Audit.Dir)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
