package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/engine/internal/lru"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/snapshot"
)

// Config configures an [Engine]. The zero value is usable: it keeps no files,
// logs nothing, and lets programs only compute.
type Config struct {
	// Cache is a folder for compiled guests, memory images, outputs of the
	// TypeScript compiler and results. Empty means none: each process prepares
	// everything again.
	Cache string
	// Shared, if not nil, replaces Cache: several engines of one process share
	// one copy of the compiled guests.
	Shared *Cache
	// Table is what programs may reach if a [Request] has no table. Nil denies
	// everything and keeps no record.
	Table *hostfns.Table
	// Version is the version of wexec that audit records name. It may be empty.
	Version string
	// Logger receives what goes wrong without failing a run. Nil logs nothing.
	Logger *slog.Logger
	// Tracing makes spans of runs, guests, calls and approvals, as children of the span
	// in the context of a run. They have names of tools, codes and counts, and never an
	// argument or a value. Nil makes none.
	Tracing trace.TracerProvider

	// Running is how many programs run at once. Zero is the number of
	// processors.
	Running int
	// Queue is how many runs may wait; one more is limit.busy. Zero means 10,000,
	// a negative value means that no run waits.
	Queue int
	// Memory bounds the memory of all runs in bytes. While it is reached, new runs
	// wait, and so do programs that want to grow, until others have ended. If all
	// wait, the first one goes on. Zero is 4 GiB.
	Memory int64
	// Ready bounds the instances of each guest that are kept ready. Zero means
	// twice Running, a negative value means that none is kept.
	Ready int

	// Sessions bounds the sessions that exist at once; zero is 100.
	Sessions int
	// SessionIdle is the time after which an unused session ends; zero is 15
	// minutes.
	SessionIdle time.Duration
	// SessionRuns and SessionTime bound the runs of a session and their total
	// time; zero is 1,000 runs and an hour.
	SessionRuns int
	SessionTime time.Duration
	// Images keeps sessions that sleep: when they are unused, when there are too many,
	// and when the engine is closed. Nil: such sessions end.
	Images Images

	// Results bounds the result cache in bytes, in memory and also in the cache
	// folder. Zero is 64 MiB; below zero turns it off.
	Results int64

	// Interpreter runs guests on wazero's interpreter, without native code and
	// fifty times slower.
	Interpreter bool
}

// An Engine runs programs. It is safe for concurrent use. Close it when it is no
// longer needed.
type Engine struct {
	config Config
	log    *slog.Logger
	tracer trace.Tracer
	table  *hostfns.Table
	cache  *Cache
	guests *guestcache.Set
	cores  *sandbox.Admission
	ledger sandbox.Ledger

	sessions *sessions
	results  *resultCache
	compiler *compiler
	reviews  *lru.Map[string, []byte]
	active   activeRuns

	mu     sync.Mutex
	closed bool
	live   sync.WaitGroup
	end    context.CancelCauseFunc
	ctx    context.Context // ends with the engine
}

// New returns an engine. It compiles nothing yet: the first run of each language
// does, or [Engine.Warm]. All problems of the configuration are reported at once,
// as usage.config.
func New(ctx context.Context, c Config) (*Engine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.orDefaults()
	// Every instance takes address space and mappings. If the machine has too
	// little of them, New fails instead of a later run.
	room, bound := snapshot.MaxInstances(sandbox.InstanceSpace)
	if room < c.Running {
		return nil, fault.New(fault.UsageConfig, "this machine has room for %d instances, but %d run at once: %s", room, c.Running, bound).
			WithOp("make an engine").WithHint("raise that bound, or set Running to less")
	}
	c.Ready = min(c.Ready, room/4)
	e := &Engine{config: c, reviews: lru.New[string, []byte](maxReviews), log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), tracer: c.tracer(), table: c.Table}
	if e.table == nil {
		var err error
		if e.table, err = hostfns.NewTable(nil, audit.None()); err != nil {
			return nil, err
		}
	}
	if e.cache = c.Shared; e.cache == nil {
		var err error
		if e.cache, err = OpenCache(c.Cache); err != nil {
			e.log.Warn("cannot use the cache folder: guests are compiled again in each process", "error", err, "folder", c.Cache, "hint", fault.HintOf(err))
			if e.cache, err = OpenCache(""); err != nil {
				return nil, err
			}
		}
	}
	e.ctx, e.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e.ledger.Max = c.Memory
	e.cores = sandbox.NewAdmission(c.Running, c.Queue, &e.ledger)
	e.guests = guestcache.NewSet(guestcache.SetOptions{Context: e.ctx, Store: e.cache.store, Ledger: &e.ledger, Log: e.log,
		Interpreter: c.Interpreter, Ready: c.Ready})
	e.sessions = newSessions(e)
	e.results = newResultCache(c.Results, e.cache, e.table, e.log)
	e.compiler = newCompiler(e.guests, e.cache, e.log)
	return e, nil
}

// check reports every problem of the configuration at once.
func (c Config) check() error {
	var all []error
	reject := func(found bool, problem string) {
		if found {
			all = append(all, errors.New(problem))
		}
	}
	reject(c.Running < 0, "Running must not be negative")
	reject(c.Memory < 0, "Memory must not be negative")
	reject(c.Shared != nil && c.Cache != "", "Cache and Shared must not both be set")
	reject(min(c.Sessions, c.SessionRuns) < 0 || min(c.SessionIdle, c.SessionTime) < 0, "limits of sessions must not be negative")
	if len(all) == 0 {
		return nil
	}
	return fault.New(fault.UsageConfig, "%w", errors.Join(all...)).WithOp("make an engine")
}

func (c Config) orDefaults() Config {
	c.Running = cmp.Or(c.Running, runtime.GOMAXPROCS(0))
	c.Queue = max(cmp.Or(c.Queue, 10_000), 0)
	c.Memory = cmp.Or(c.Memory, 4<<30)
	c.Ready = max(cmp.Or(c.Ready, 2*c.Running), 0)
	c.Sessions = cmp.Or(c.Sessions, 100)
	c.SessionIdle = cmp.Or(c.SessionIdle, 15*time.Minute)
	c.SessionRuns = cmp.Or(c.SessionRuns, 1000)
	c.SessionTime = cmp.Or(c.SessionTime, time.Hour)
	c.Results = max(cmp.Or(c.Results, 64<<20), 0)
	return c
}

// Close cancels what runs, waits for its end, and frees everything except tables
// and a shared cache, which their owner closes.
func (e *Engine) Close() error {
	e.mu.Lock()
	closed := e.closed
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	e.end(fault.New(fault.Cancelled, "the engine is closed"))
	e.live.Wait()
	e.sessions.close()
	err := e.guests.Close(context.Background())
	if e.config.Shared == nil {
		err = errors.Join(err, e.cache.Close())
	}
	return err
}

// enter counts work that Close waits for.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.New(fault.Cancelled, "the engine is closed")
	}
	e.live.Add(1)
	return nil
}

// Core waits for a core as a run of an actor does, for work outside of runs, such as
// a search for tools. The caller gives it back with leave.
func (e *Engine) Core(ctx context.Context, actor string) (leave func(), err error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	slot, err := e.cores.Enter(ctx, actor, func(int) {})
	if err != nil {
		e.live.Done()
		return nil, err
	}
	return func() {
		slot.Leave()
		e.live.Done()
	}, nil
}

// Forget removes what the engine keeps of programs of tables other than its own and
// that match selects: results in memory, and outputs of the TypeScript compiler, also
// those in the cache folder.
func (e *Engine) Forget(match func(text []byte) bool) error {
	e.results.entries.RemoveIf(func(r resultEntry) bool {
		return match(r.Value) || match([]byte(r.Stdout)) || match([]byte(r.Stderr))
	})
	e.compiler.outputs.RemoveIf(match)
	e.reviews.RemoveIf(match)
	return e.compiler.disk.RemoveIf(match)
}

// Runs returns the runs of the engine that have not ended, the oldest first. A run
// is listed from the call of [Engine.Run] until that returns.
func (e *Engine) Runs() []ActiveRun { return e.active.list() }

// Memory returns the bytes of memory that the instances of guests have.
func (e *Engine) Memory() int64 { return e.ledger.Bytes() }

// Cancel ends the run with an id, with the code cancelled, and reports whether the
// run was active. It does not wait for the end. If a host gave several runs the same
// id, all of them end.
func (e *Engine) Cancel(id string) bool { return e.active.end(id) }

// Warm prepares guests before the first run needs them: it compiles them, writes
// their memory images to the cache folder, and makes instances ready. Without
// languages it prepares all. Progress, which may be nil, is called for each
// guest that has to be compiled (EventCompiling) and for each that is ready
// (EventDone), with its name, and Done of Total.
//
// A guest that runs programs also runs a small one, so that the first runs find
// its memory as later ones do.
func (e *Engine) Warm(ctx context.Context, progress func(Event), languages ...string) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	if len(languages) == 0 {
		for _, g := range guests.All() {
			languages = append(languages, g.Language)
		}
	}
	// Compilers run once for a program, and need one instance.
	var programs, compilers []string
	add := func(list *[]string, module string) {
		if module != "" && !slices.Contains(*list, module) {
			*list = append(*list, module)
		}
	}
	for _, l := range languages {
		g, err := guests.Lookup(l)
		if err != nil {
			return err
		}
		add(&programs, g.Module)
		add(&compilers, g.Compiler)
	}
	var errs []error
	modules := slices.Concat(programs, compilers)
	for i, module := range modules {
		report := func(t EventType, done int) {
			if progress != nil {
				progress(Event{Type: t, Time: time.Now().UTC(), Text: module, Done: float64(done), Total: float64(len(modules))})
			}
		}
		if err := e.warm(ctx, module, i < len(programs), func(string) { report(EventCompiling, i) }); err != nil {
			errs = append(errs, fmt.Errorf("prepare %s: %w", module, err))
			continue
		}
		report(EventDone, i+1)
	}
	return errors.Join(errs...)
}

// warm prepares one guest.
func (e *Engine) warm(ctx context.Context, module string, runsPrograms bool, compiling func(string)) error {
	g, err := e.guests.Load(ctx, module, compiling)
	if err != nil {
		return err
	}
	if !runsPrograms {
		return g.Warm(ctx, min(1, e.config.Ready))
	}
	g.Practise(ctx, min(e.config.Running+1, 8))
	return g.Warm(ctx, e.config.Ready)
}
