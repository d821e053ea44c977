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
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
	"github.com/wexec/wexec/hostfns/embeddings"
	"github.com/wexec/wexec/hostfns/upstream"
)

// Options are what a command adds to the settings.
type Options struct {
	Env        *Environment
	Version    string
	Logger     *slog.Logger
	Tracing    trace.TracerProvider        // see [engine.Config]
	Terminal   hostfns.Asker               // asks the person at the terminal; nil without a terminal
	More       []hostfns.Provider          // in addition to those of the settings
	NoAudit    bool                        // for commands that run no program
	Language   string                      // of the program, if known: its guest is loaded in the background
	Prefetched *engine.Cache               // see [Environment.Prefetch]
	Record     func(audit.Sink) audit.Sink // wraps the audit log; nil leaves it
	Images     engine.Images               // see [engine.Config]; not used with an Engine
	Engine     *engine.Engine              // which the caller closes; nil makes one
	Owner      string                      // see [hostfns.Options]
}

// Host is everything that runs programs.
type Host struct {
	Engine   *engine.Engine
	Table    *hostfns.Table     // of the first settings; see Current
	Upstream *upstream.Provider // of the first settings
	// Approvals asks people: at the terminal, and at the socket if the policy
	// names it.
	Approvals *approvals.Broker

	closers []io.Closer // closed in reverse order
	learned *hostfns.Learned
	seen    *seenTools
	logger  *slog.Logger
	sink    audit.Sink
	options Options
	states  states
}

// Open makes a host from the settings. Close it when it is no longer used.
func (s *Settings) Open(ctx context.Context, o Options) (_ *Host, err error) {
	h := &Host{logger: o.Logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	cache := s.openCache(o)
	if cache != nil {
		h.closers = append(h.closers, cache)
	}
	var sink audit.Sink = audit.None()
	var log *audit.Log
	if !o.NoAudit {
		if log, err = s.openAudit(); err != nil {
			return nil, err
		}
		sink, h.closers = log, append(h.closers, log)
		if o.Record != nil {
			sink = o.Record(log)
		}
	}
	h.sink, h.options = sink, o
	h.Approvals = approvals.New()
	h.seen = &seenTools{path: below(o.Env.stateDir(), "tools.json"), log: o.Logger}
	if s.LearnTypes {
		h.learned = hostfns.NewLearned(below(o.Env.stateDir(), "types")) // "" keeps them in memory
	}
	h.closers = append(h.closers, &h.states)
	if err := h.Reload(s); err != nil {
		return nil, err
	}
	h.Table, h.Upstream = h.states.current().table, h.states.current().servers
	if o.Terminal != nil {
		h.Approvals.Offer(approvals.Terminal, o.Terminal)
	}
	if dir := o.Env.RuntimeDir(); dir != "" && slices.Contains(h.Table.Policy().Approvals().Via, approvals.Socket) {
		socket, err := h.Approvals.Listen(dir)
		if err != nil {
			return nil, err
		}
		h.closers = append(h.closers, socket)
	}
	if s.Audit.Anchor.Tool != "" {
		h.states.anchor = h.Upstream
	}
	if log != nil {
		anchoring, err := s.Audit.Anchor.anchoring(s.Audit.Dir, h.Upstream, o.Logger)
		if err == nil && anchoring.Anchor != nil {
			err = log.Anchor(anchoring)
		}
		if err != nil {
			return nil, err
		}
		h.closers = append(h.closers, lastHead{log}) // before the servers end: one may be the anchor
	}
	if h.Engine = o.Engine; h.Engine != nil {
		return h, nil
	}
	conf := engine.Config{Shared: cache, Table: h.Table, Version: o.Version, Logger: o.Logger, Tracing: o.Tracing, Images: o.Images}
	if cache == nil {
		conf.Cache = s.Cache
	}
	if h.Engine, err = engine.New(ctx, conf); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, h.Engine)
	return h, nil
}

// Close ends runs, servers and the audit log, in this order.
func (h *Host) Close() error {
	var err error
	for _, c := range slices.Backward(h.closers) {
		err = errors.Join(err, c.Close())
	}
	if saveErr := h.learned.Save(); saveErr != nil && h.logger != nil {
		h.logger.Warn("cannot save the learned types of answers", "error", saveErr)
	}
	return err
}

// Record adds an event to the audit log.
func (h *Host) Record(ctx context.Context, e audit.Event) error {
	_, err := h.sink.Record(ctx, e)
	return err
}

// Prefetch begins to load the guest of a language from the default cache folder,
// for a command that knows the language before it has read its settings. Pass
// the result to [Settings.Open] as Options.Prefetched; if Open is not called,
// close it. It returns nil if there is no cache yet.
func (e *Environment) Prefetch(language string) *engine.Cache {
	dir := e.cacheDir()
	if v, ok := e.Lookup("WEXEC_CACHE"); ok && v != "" {
		dir = absolute(e.Dir, v)
	}
	if dir == "" || language == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "code")); err != nil {
		return nil
	}
	return prefetch(dir, language)
}

// openCache opens the cache and begins to load the guest of the program. It
// returns nil to let the engine open its own, which reports problems.
func (s *Settings) openCache(o Options) *engine.Cache {
	if o.Prefetched != nil && o.Prefetched.Dir() == filepath.Clean(s.Cache) {
		return o.Prefetched
	}
	if o.Language == "" || s.Cache == "" {
		return nil
	}
	return prefetch(s.Cache, o.Language)
}

func prefetch(dir, language string) *engine.Cache {
	cache, err := engine.OpenCache(dir)
	if err != nil {
		return nil
	}
	cache.Prefetch(language)
	return cache
}

// ranker returns what ranks tools by meaning, or nil if no endpoint is
// configured.
func (s *Settings) ranker(o Options) (hostfns.Ranker, error) {
	if s.Embeddings.URL == "" {
		return nil, nil
	}
	opts := embeddings.Options{URL: s.Embeddings.URL, Model: s.Embeddings.Model, Logger: o.Logger, Dir: below(s.Cache, "embeddings")}
	if from := s.Embeddings.Key; from != "" {
		if kind, _, ok := strings.Cut(from, ":"); !ok || kind != "env" && kind != "file" {
			return nil, fault.New(fault.UsageConfig, "embeddings.key: must be env:NAME or file:PATH, not the key itself")
		}
		opts.Key = func(ctx context.Context) (string, error) { return o.Env.Secret(ctx, from) }
	}
	x, err := embeddings.New(opts)
	if err != nil {
		return nil, err // not x: a nil pointer in the interface is not nil
	}
	return x, nil
}

func (s *Settings) openAudit() (*audit.Log, error) {
	if s.Audit.Dir == "" {
		return nil, fault.New(fault.AuditUnavailable, "there is no home folder for the audit log").
			WithHint("set audit.dir in the configuration, or WEXEC_AUDIT")
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

// AnchoredHeads returns the heads that the configured anchor has. Ok is false if
// there is no anchor. It starts the server of a tool.
func (s *Settings) AnchoredHeads(ctx context.Context, o Options) (heads []byte, ok bool, err error) {
	if s.Audit.Anchor.String() == "" {
		return nil, false, nil
	}
	var servers *upstream.Provider
	if s.Audit.Anchor.Tool != "" {
		o.NoAudit = true
		host, err := s.Open(ctx, o)
		if err != nil {
			return nil, false, err
		}
		defer func() { _ = host.Close() }()
		servers = host.Upstream
	}
	anchor, err := s.Audit.Anchor.open(s.Audit.Dir, servers)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if heads, err = anchor.Heads(ctx); err != nil {
		return nil, false, fault.New(fault.UsageAudit, "read the anchor: %w", err)
	}
	return heads, true, nil
}

// lastHead gives the anchor the last head when it is closed.
type lastHead struct{ log *audit.Log }

// Close implements io.Closer.
func (l lastHead) Close() error {
	l.log.KeepHead()
	return nil
}

// Secret returns the value of a secret from env:NAME or file:PATH. Relative paths begin
// at the working folder. The value is read each time and not kept.
func (e *Environment) Secret(_ context.Context, from string) (string, error) {
	switch kind, name, _ := strings.Cut(from, ":"); kind {
	case "env":
		v, ok := e.Lookup(name)
		if !ok {
			return "", fault.New(fault.UsageConfig, "variable %s is not set", name)
		}
		return v, nil
	case "file":
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(e.Home, rest)
		}
		read := os.ReadFile
		if e.Within != "" {
			read = e.readWithin
		}
		data, err := read(absolute(e.Dir, name))
		if err != nil {
			return "", fault.New(fault.UsageConfig, "read the secret's file: %w", pathCause(err))
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	return "", fault.New(fault.UsageConfig, "a secret must come from env:NAME or file:PATH")
}
