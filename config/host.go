package config

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
	"github.com/wexec/wexec/hostfns/embeddings"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/hostfns/upstream"
)

// Options say what a door brings to the wiring.
type Options struct {
	Env      *Environment
	Version  string
	Logger   *slog.Logger
	Terminal hostfns.Asker      // asks the person at the terminal; nil: nobody is there
	More     []hostfns.Provider // beside those that the settings name
	NoAudit  bool               // for doors that only look and never run
	Language string             // what is going to be run, where that is known: its guest is loaded meanwhile
	Ahead    *engine.Cache      // where that was begun already, see [Environment.Ahead]
	DryRun   bool               // no server is started, every call is answered with null
}

// Host is everything a door needs to run programs, wired.
type Host struct {
	Engine   *engine.Engine
	Table    *hostfns.Table
	Upstream *upstream.Provider
	// Approvals knows who can be asked: the terminal, and the socket where the
	// policy names it.
	Approvals *approvals.Broker

	log     *audit.Log
	cache   *engine.Cache // nil: the engine has its own
	socket  io.Closer
	learned *hostfns.Learned
	logger  *slog.Logger
}

// Open wires an engine from the settings. Close it.
func (s *Settings) Open(ctx context.Context, o Options) (opened *Host, err error) {
	h := &Host{logger: o.Logger, cache: s.cache(o)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.closeCache())
		}
	}()
	h.Upstream, err = upstream.New(s.Servers, upstream.Options{
		Environ: o.Env.Vars, Logger: o.Logger, Version: o.Version,
		Secrets: func(ctx context.Context, server string) ([]hostfns.Secret, error) {
			return h.Table.ServerSecrets(ctx, server)
		},
		Authorize: o.Env.Grants().Authorize,
	})
	if err != nil {
		return nil, err
	}
	var sink audit.Sink = audit.None()
	if !o.NoAudit {
		if h.log, err = s.openAudit(); err != nil {
			return nil, err
		}
		sink = h.log
	}
	providers := append([]hostfns.Provider{h.Upstream, fetch.New(fetch.Options{}), files.New(s.protected(o.Env)...)}, o.More...)
	h.Table, err = hostfns.NewTable(s.Policy(), sink, providers...)
	if err != nil {
		return nil, errors.Join(err, h.closeLog())
	}
	h.Approvals = approvals.New()
	if o.Terminal != nil {
		h.Approvals.Offer(approvals.Terminal, o.Terminal)
	}
	if dir := o.Env.RuntimeDir(); dir != "" && slices.Contains(h.Table.Policy().Approvals().Via, approvals.Socket) {
		if h.socket, err = h.Approvals.Listen(dir); err != nil {
			return nil, errors.Join(err, h.Table.Close(), h.closeLog())
		}
	}
	pins := &pinWatch{files: s.PinFiles(o.Env), servers: s.Servers, log: o.Logger}
	if err := pins.read(); err != nil {
		return nil, errors.Join(err, h.Table.Close(), h.closeLog())
	}
	ranker, err := s.ranker(o)
	if err != nil {
		return nil, errors.Join(err, h.Table.Close(), h.closeLog())
	}
	if s.LearnTypes {
		h.learned = hostfns.NewLearned(o.Env.typesDir())
	}
	h.Table.With(hostfns.Options{Asker: h.Approvals, Logger: o.Logger, Secrets: o.Env.secret, Pins: pins.current, Learned: h.learned, Ranker: ranker})
	made := engine.Config{Shared: h.cache, Table: h.Table, Version: o.Version, Logger: o.Logger}
	if h.cache == nil {
		made.Cache = s.Cache
	}
	h.Engine, err = engine.New(ctx, made)
	if err != nil {
		return nil, errors.Join(err, h.Table.Close(), h.closeLog())
	}
	return h, nil
}

// ranker returns what ranks tools by meaning, or nil if no endpoint is configured.
func (s *Settings) ranker(o Options) (hostfns.Ranker, error) {
	if s.Embeddings.URL == "" {
		return nil, nil
	}
	made := embeddings.Options{URL: s.Embeddings.URL, Model: s.Embeddings.Model, Logger: o.Logger}
	if s.Cache != "" {
		made.Dir = filepath.Join(s.Cache, "embeddings")
	}
	if from := s.Embeddings.Key; from != "" {
		if kind, _, ok := strings.Cut(from, ":"); !ok || kind != "env" && kind != "file" {
			return nil, fault.New(fault.UsageConfig, "embeddings: the key itself does not belong into the file").WithHint("key: env:NAME or key: file:PATH")
		}
		made.Key = func(ctx context.Context) (string, error) { return o.Env.secret(ctx, from) }
	}
	x, err := embeddings.New(made)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (s *Settings) openAudit() (*audit.Log, error) {
	if s.Audit.Dir == "" {
		return nil, fault.New(fault.AuditUnavailable, "there is no home folder to record runs in").
			WithHint("name a folder: --audit DIR, or WEXEC_AUDIT")
	}
	o := audit.Options{Rotate: s.Audit.Rotate}
	var err error
	if o.Sync, err = audit.ParseSync(s.Audit.Sync); err != nil {
		return nil, err
	}
	if s.Audit.Key != "" {
		key, err := readBounded(s.Audit.Key)
		if err != nil {
			return nil, err
		}
		if o.Key, err = audit.ParseKey(key); err != nil {
			return nil, err
		}
	}
	return audit.Open(s.Audit.Dir, o)
}

func (h *Host) closeLog() error {
	if h.log == nil {
		return nil
	}
	return h.log.Close()
}

func (h *Host) closeCache() error {
	if h.cache == nil {
		return nil
	}
	return h.cache.Close()
}

// Close ends runs, servers and the record, in this order.
func (h *Host) Close() error {
	err := errors.Join(h.Engine.Close(), h.Table.Close(), h.closeLog(), h.closeCache())
	if h.socket != nil {
		err = errors.Join(err, h.socket.Close())
	}
	if saved := h.learned.Save(); saved != nil && h.logger != nil {
		h.logger.Warn("what was learned of the types of answers cannot be kept", "error", saved)
	}
	return err
}

// secret is the value that a policy's secret comes from: env:NAME or
// file:PATH. It is read when it is needed, and kept nowhere.
func (e *Environment) secret(_ context.Context, from string) (string, error) {
	kind, rest, ok := strings.Cut(from, ":")
	switch {
	case ok && kind == "env":
		v, ok := e.Lookup(rest)
		if !ok {
			return "", fault.New(fault.UsageConfig, "the variable %s is not set", rest)
		}
		return v, nil
	case ok && kind == "file":
		if home, ok := strings.CutPrefix(rest, "~/"); ok {
			rest = filepath.Join(e.Home, home)
		}
		data, err := os.ReadFile(filepath.Clean(rest))
		if err != nil {
			return "", fault.New(fault.UsageConfig, "read the secret's file: %w", pathCause(err))
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	return "", fault.New(fault.UsageConfig, "a secret comes from env:NAME or file:PATH")
}
