package engine

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/snapshot"
)

// Config says how an [Engine] works. The zero value is usable: it keeps no
// files, logs nothing, and lets programs compute and nothing else.
type Config struct {
	// Cache is a folder for compiled guests, memory images, outputs of the
	// TypeScript compiler and results. Empty means none: everything is prepared
	// anew by each process.
	Cache string
	// Shared, where it is not nil, is used in place of Cache, so that several
	// engines of one process hold one copy of the compiled guests.
	Shared *Cache
	// Table is what programs may reach where a [Request] brings no table of its
	// own. Nil denies everything and keeps no record.
	Table *hostfns.Table
	// Version is the version of wexec that audit records name. It may be empty.
	Version string
	// Logger is told what goes wrong without failing a run. Nil means nobody.
	Logger *slog.Logger

	// Running is how many programs run at once. Zero is the number of
	// processors.
	Running int
	// Queue is how many runs may wait for their turn; one more is limit.busy.
	// Zero is 10,000; below zero is none.
	Queue int
	// Memory bounds what the memories of all runs grow to in bytes. A new run
	// waits while they are above it, and a program that would take them above
	// it waits before it grows, until others have ended; where all wait, the
	// first goes on. Zero is 4 GiB.
	Memory int64
	// Ready is how many instances of each guest are kept ready at most. Zero is
	// twice Running; below zero is none.
	Ready int

	// Sessions bounds how many sessions live at once; zero is 100.
	Sessions int
	// SessionIdle ends a session that was not used for so long; zero is 15
	// minutes.
	SessionIdle time.Duration
	// SessionRuns and SessionTime bound what a session runs in all; zero is
	// 1,000 runs and an hour.
	SessionRuns int
	SessionTime time.Duration

	// Results bounds the result cache in bytes, in memory and again in the
	// cache folder. Zero is 64 MiB; below zero turns it off.
	Results int64

	// Interpreter runs guests on wazero's interpreter: no native code, and
	// fifty times slower.
	Interpreter bool
}

// An Engine runs programs. It is safe for use by any number of goroutines.
// Close it when it is not needed any more.
type Engine struct {
	config Config
	log    *slog.Logger
	table  *hostfns.Table
	cache  *Cache
	guests *guestSet
	cores  *admission
	ledger ledger

	sessions *sessions
	results  *resultCache
	outputs  *compiler

	mu     sync.Mutex
	closed bool
	live   sync.WaitGroup
	end    context.CancelCauseFunc
	ctx    context.Context // ends with the engine
}

// New makes an engine. It compiles nothing yet: the first run of each language
// does, or [Engine.Warm]. All problems of the configuration are reported at
// once, as usage.config.
func New(ctx context.Context, c Config) (*Engine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.orDefaults()
	// Every instance takes address space and mappings; a machine that has too
	// little of them is told so now, and not by a run in the middle.
	room, bound := snapshot.MaxInstances(readyMemory)
	if room < c.Running {
		return nil, fault.New(fault.UsageConfig, "this machine has room for %d instances and %d are to run at once: %s", room, c.Running, bound).
			WithOp("make an engine").WithHint("raise that bound, or set Running to less")
	}
	c.Ready = min(c.Ready, room/4)
	e := &Engine{config: c, log: c.Logger, table: c.Table}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.table == nil {
		var err error
		if e.table, err = hostfns.NewTable(nil, audit.None()); err != nil {
			return nil, err
		}
	}
	e.cache = c.Shared
	if e.cache == nil {
		var err error
		if e.cache, err = OpenCache(c.Cache); err != nil {
			e.log.Warn("no cache folder is used", "folder", c.Cache, "error", err)
			if e.cache, err = OpenCache(""); err != nil {
				return nil, err
			}
		}
	}
	e.ctx, e.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e.cores = newAdmission(c.Running, c.Queue, func() bool { return e.ledger.bytes.Load() < c.Memory })
	e.ledger.less, e.ledger.most = e.cores.look, c.Memory
	e.guests = newGuestSet(e)
	e.sessions = newSessions(e)
	e.results = newResultCache(e)
	e.outputs = newCompiler(e)
	return e, nil
}

// check reports every problem of the configuration at once.
func (c Config) check() error {
	var all []error
	if c.Running < 0 {
		all = append(all, errors.New("the setting Running is below zero"))
	}
	if c.Memory < 0 {
		all = append(all, errors.New("the setting Memory is below zero"))
	}
	if c.Shared != nil && c.Cache != "" {
		all = append(all, errors.New("both Cache and Shared are set"))
	}
	if c.Sessions < 0 || c.SessionIdle < 0 || c.SessionRuns < 0 || c.SessionTime < 0 {
		all = append(all, errors.New("a limit of sessions is below zero"))
	}
	if len(all) == 0 {
		return nil
	}
	return fault.New(fault.UsageConfig, "%w", errors.Join(all...)).WithOp("make an engine")
}

func (c Config) orDefaults() Config {
	if c.Running == 0 {
		c.Running = runtime.GOMAXPROCS(0)
	}
	switch {
	case c.Queue == 0:
		c.Queue = 10_000
	case c.Queue < 0:
		c.Queue = 0
	}
	if c.Memory == 0 {
		c.Memory = 4 << 30
	}
	switch {
	case c.Ready == 0:
		c.Ready = 2 * c.Running
	case c.Ready < 0:
		c.Ready = 0
	}
	if c.Sessions == 0 {
		c.Sessions = 100
	}
	if c.SessionIdle == 0 {
		c.SessionIdle = 15 * time.Minute
	}
	if c.SessionRuns == 0 {
		c.SessionRuns = 1000
	}
	if c.SessionTime == 0 {
		c.SessionTime = time.Hour
	}
	if c.Results == 0 {
		c.Results = 64 << 20
	}
	return c
}

// Close ends what runs, as cancelled, waits for it, and gives everything back.
// Tables are their owner's to close, and so is a shared cache.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.end(fault.New(fault.Cancelled, "the engine is closed"))
	e.live.Wait()
	e.sessions.close()
	e.results.close()
	err := e.guests.close(context.Background())
	if e.config.Shared == nil {
		err = errors.Join(err, e.cache.Close())
	}
	return err
}

// enter counts a piece of work that Close waits for.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.New(fault.Cancelled, "the engine is closed")
	}
	e.live.Add(1)
	return nil
}
