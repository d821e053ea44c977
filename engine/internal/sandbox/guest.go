package sandbox

import (
	"context"
	"runtime"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/policy"
)

// poolMemory is what the memory of a pooled instance can grow to.
const poolMemory = 512 << 20

// InstanceSpace is the address space that an instance needs.
const InstanceSpace = poolMemory

// Guest makes instances of a module, which start from its memory image.
type Guest struct {
	GuestOptions
	pool Pool
}

// GuestOptions describe a guest.
type GuestOptions struct {
	Name    string
	Digest  string
	Module  *Module
	Stub    bool // its code was loaded through a stub module, and may be missing
	Image   *snapshot.Image
	Library experimentalsys.FS // at /lib; nil: none
	Ledger  *Ledger
	Ready   int   // instances to keep ready at most
	Minimum int64 // initial size of its memory; 0: that of its image
}

// NewGuest returns a guest.
func NewGuest(o GuestOptions) *Guest {
	o.Minimum = max(o.Minimum, int64(o.Image.Size()))
	g := &Guest{GuestOptions: o}
	g.pool = Pool{max: o.Ready, trim: o.Image.Trim,
		fresh: func(ctx context.Context) (*Instance, error) { return g.fresh(ctx, poolMemory, true) }}
	return g
}

// Take returns an instance for one run, whose memory may grow to limit.
func (g *Guest) Take(ctx context.Context, limit int64) (*Instance, error) {
	if limit < g.Minimum {
		return nil, memoryFault(limit).WithHint("%s needs at least limits.memory: %s", g.Name, units.FormatSize(g.Minimum))
	}
	i := g.pool.take(limit <= poolMemory)
	if i != nil {
		if i.mems.from.Bind(i.main) == nil {
			return i, nil
		}
		_ = i.Close(ctx) // no mapping is left for its memory; a fresh one can use a copy
	}
	i, err := g.fresh(ctx, max(limit, poolMemory), false)
	if err != nil {
		g.pool.done()
	}
	return i, err
}

// TakeUnpooled returns an instance of a foreign plugin. It waits for the memory
// that the plugin begins with.
func (g *Guest) TakeUnpooled(ctx context.Context, limit int64, slot *Slot, relieve func()) (*Instance, error) {
	if g.Minimum > limit {
		return nil, memoryFault(limit).WithHint("the plugin starts with more: it needs at least limits.memory: %s", units.FormatSize(g.Minimum))
	}
	if err := slot.Reserve(ctx, g.Minimum, relieve); err != nil {
		return nil, err
	}
	return g.fresh(ctx, limit, false)
}

// fresh makes an instance. One that is pooled gets its memory when it is taken:
// until then it costs little, and it can reuse the memory of another one.
func (g *Guest) fresh(ctx context.Context, limit int64, pooled bool) (*Instance, error) {
	memory := g.Image.Memory(uint64(limit))
	if pooled && g.Module.canBind.Load() {
		memory.DeferBinding()
	}
	i, err := g.Module.instantiate(ctx, memory, limit, g.Ledger)
	if i != nil {
		i.library = g.Library
	}
	return i, err
}

// The memory of an instance is cleaned by the run that ends if that is quick:
// after a brief run there is little to copy back, and a small memory has few
// pages to ask the kernel about. Waking an idle processor takes longer. A large
// memory takes 80 µs, which another processor can spend.
const (
	briefRun    = time.Millisecond
	smallMemory = 8 << 20
)

// Discard closes an instance that has served.
func (g *Guest) Discard(i *Instance) {
	end := func() { _ = i.Close(context.Background()) }
	slow := i.served > briefRun || g.Minimum > smallMemory && runtime.GOMAXPROCS(0) > 1
	if !slow || !g.pool.background(end) {
		end()
	}
	g.pool.done()
}

// Warm makes n instances ready.
func (g *Guest) Warm(ctx context.Context, n int) error { return g.pool.warm(ctx, n) }

// Ready returns the number of ready instances.
func (g *Guest) Ready() int {
	g.pool.mu.Lock()
	defer g.pool.mu.Unlock()
	return len(g.pool.ready)
}

// practice is a program that does nothing, and its surroundings.
const practice = `{"code":"1+1","file":"main","args":null,"argv":[],"env":{},"servers":[],"root":"","packages":""}` + "\n"

// Practise runs a small program in n instances at once, twice, so that the
// pages that every program writes to are known, and memories with them are
// kept. If it fails the first runs are slower.
func (g *Guest) Practise(ctx context.Context, n int) {
	limits := policy.Limits{Fuel: 100e6, Memory: poolMemory, Time: 5 * time.Second, Output: 1 << 10}.OrDefaults()
	for range 2 {
		var all []*Instance
		for range n {
			i, err := g.fresh(ctx, poolMemory, false)
			if err != nil {
				break
			}
			all = append(all, i)
			_, _ = g.Isolated(ctx, i, world.NewLive(world.Options{Deterministic: true}), limits, []byte(practice))
		}
		for _, i := range all {
			_ = i.Close(context.Background())
		}
	}
}

// Close frees the ready instances and the code. Nothing may run.
func (g *Guest) Close(ctx context.Context) error {
	g.pool.close()
	return g.Module.Close(ctx)
}

// Isolated runs a guest that has no tools in an instance, under its own limits.
// Started is false if the guest failed before its first act.
func (g *Guest) Isolated(ctx context.Context, i *Instance, w world.World, limits policy.Limits, input []byte) (end End, started bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h, err := NewHost(ctx, Options{Limits: limits, World: w, Input: input, Cancel: cancel})
	if err != nil {
		return End{Fault: fault.New(fault.Internal, "%w", err)}, false
	}
	end = i.Serve(h)
	return end, h.started
}
