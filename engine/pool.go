package engine

import (
	"context"
	"runtime"
	"sync"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// poolIdle is how long a guest may go unused before its ready instances are
// given back.
const poolIdle = 30 * time.Second

// pool keeps instances of one guest ready. How many follows use: none before
// the second run, then one more than were in use at once lately. An instance
// is taken once and never comes back.
type pool struct {
	most int                                      // instances kept at most
	make func(context.Context) (*instance, error) // with the default memory limit
	trim func()                                   // gives back what is kept for new ones

	mu      sync.Mutex
	ready   []*instance
	uses    int
	live    int // taken and not discarded
	ends    int // being ended
	target  int
	filling bool
	closed  bool
	idle    *time.Timer
	work    sync.WaitGroup
}

// take notes that an instance is in use from now on, and gives a ready one
// where there is one and it is wanted.
func (p *pool) take(wanted bool) *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses++
	p.live++
	if p.uses > 1 {
		p.target = min(max(p.target, p.live+1), p.most)
	}
	var i *instance
	if n := len(p.ready); n > 0 && wanted {
		i = p.ready[n-1]
		p.ready[n-1] = nil
		p.ready = p.ready[:n-1]
	}
	if p.idle != nil {
		p.idle.Reset(poolIdle)
	} else if !p.closed {
		p.idle = time.AfterFunc(poolIdle, p.rest)
	}
	if i == nil && wanted {
		p.fill()
	}
	return i
}

// gave notes that an instance is not used any more.
func (p *pool) gave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live--
	if len(p.ready) < max(p.target/2, 1) {
		p.fill()
	}
}

// maxEnding is how many instances are ended at once, beside the runs.
const maxEnding = 8

// ending has an instance ended by f beside the runs. It is false where too many
// are, or the pool is closed.
func (p *pool) ending(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ends >= maxEnding {
		return false
	}
	p.ends++
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		f()
		p.mu.Lock()
		p.ends--
		p.mu.Unlock()
	}()
	return true
}

// fill makes instances until the target is reached, one goroutine at a time. It
// begins at the end of a run that leaves less than half of them, so that runs
// are not slowed down by what is made for the next ones, or where one is wanted
// and none is there. The lock is held.
func (p *pool) fill() {
	if p.filling || p.closed || p.target == 0 {
		return
	}
	p.filling = true
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		for {
			i, err := p.make(context.Background())
			p.mu.Lock()
			if err == nil {
				p.ready = append(p.ready, i)
			}
			if err != nil || p.closed || len(p.ready) >= p.target {
				p.filling = false
				p.mu.Unlock()
				return
			}
			p.mu.Unlock()
		}
	}()
}

// warm has n instances made ready before it returns.
func (p *pool) warm(ctx context.Context, n int) error {
	for range min(n, p.most) {
		i, err := p.make(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return i.Close(ctx)
		}
		p.uses++
		p.target = max(p.target, min(n, p.most))
		p.ready = append(p.ready, i)
		p.mu.Unlock()
	}
	return nil
}

// rest gives the ready instances back after a time without use.
func (p *pool) rest() {
	p.mu.Lock()
	spare := p.ready
	p.ready, p.target, p.uses = nil, 0, 0
	p.mu.Unlock()
	for _, i := range spare {
		_ = i.Close(context.Background())
	}
	p.trim()
}

// close gives everything back. Nothing is taken any more.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.idle != nil {
		p.idle.Stop()
	}
	p.mu.Unlock()
	p.work.Wait()
	p.rest()
}

// guest is a compiled guest, ready to make instances.
type guest struct {
	name     string
	module   *wasmmodules.Module
	digest   string
	compiled *compiled
	image    *snapshot.Image
	minimum  int64              // bytes its memory begins with
	library  experimentalsys.FS // what it sees at /lib; nil: nothing
	ledger   *ledger
	pool     pool
}

// take gives an instance that serves one run, whose memory may grow to limit.
func (g *guest) take(ctx context.Context, limit int64) (*instance, error) {
	if limit < g.minimum {
		return nil, memoryOver(limit).WithHint("%s needs at least --memory %s", g.name, size(g.minimum))
	}
	i := g.pool.take(limit <= readyMemory)
	if i != nil {
		if i.mems.from.Bind(i.main) == nil {
			return i, nil
		}
		// The machine has no mapping for its memory. What is made anew can do
		// with a copy.
		_ = i.Close(ctx)
	}
	i, err := g.fresh(ctx, max(limit, readyMemory), false)
	if err != nil {
		g.pool.gave()
	}
	return i, err
}

// readyMemory is what the memory of a pooled instance can grow to.
const readyMemory = 512 << 20

// fresh makes an instance. One that waits to be used has no memory yet: what
// waits is cheap, and what runs takes a memory that another gave back.
func (g *guest) fresh(ctx context.Context, limit int64, waits bool) (*instance, error) {
	memory := g.image.Memory(uint64(limit))
	if waits && g.compiled.binds.Load() {
		memory.DeferBinding()
	}
	return g.compiled.instantiate(ctx, memory, limit, g.ledger)
}

// A memory is cleaned by the run that ends, where that is quickly done: after a
// brief run there is little to copy back, and in a small memory there are few
// pages to ask the kernel about. To wake a processor that is idle would take
// longer. In a large one it takes 80 µs, which another processor can spend.
const (
	brief = time.Millisecond
	small = 8 << 20 // bytes
)

// besideRuns reports whether an instance is better ended beside the runs.
func (g *guest) besideRuns(served time.Duration) bool {
	return served > brief || g.minimum > small && runtime.GOMAXPROCS(0) > 1
}

// discard ends an instance that has served; its memory has to be cleaned. Where
// that is done beside the runs, it is unless too many are being ended so.
func (g *guest) discard(i *instance) {
	end := func() { _ = i.Close(context.Background()) }
	if !g.besideRuns(i.served) || !g.pool.ending(end) {
		end()
	}
	g.pool.gave()
}
