package sandbox

import (
	"context"
	"time"

	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/policy"
)

// Frozen is the state of an instance, from which others go on. They share its memory.
type Frozen struct {
	state  *snapshot.State
	stale  []int32
	ledger *Ledger
}

// keepExport is the export of a guest that makes its memory fit for being shared.
const keepExport = "guest_keep"

// keepMemory is what a guest may grow by in it, and keepTime how long it may take.
const (
	keepMemory = 8 << 20
	keepTime   = 5 * time.Second
)

// Freeze returns the state of an instance in which nothing runs. It changes the
// instance, which must not run any more.
func (i *Instance) Freeze(ctx context.Context) (*Frozen, error) {
	stale, err := i.openFiles()
	if err != nil {
		return nil, err
	}
	if err := i.keep(ctx); err != nil {
		return nil, fault.New(err.Code, "prepare the memory of the session for a fork: %s", err.Message)
	}
	state, err := i.mems.from.Freeze(i.main)
	if err != nil {
		return nil, err
	}
	f := &Frozen{state, stale, i.mems.ledger}
	f.ledger.add(f.Size())
	return f, nil
}

// keep lets the guest prepare its memory. The program's code that runs then, such as
// finalizers of collected objects for example, has no tools.
func (i *Instance) keep(ctx context.Context) *fault.Error {
	f := i.main.ExportedFunction(keepExport)
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limits := policy.Limits{Memory: i.MemorySize() + keepMemory, Time: keepTime, Output: 1 << 10}.OrDefaults()
	h, err := NewHost(ctx, Options{Limits: limits, World: world.NewLive(world.Options{Deterministic: true}), Cancel: cancel})
	if err != nil {
		return fault.New(fault.Internal, "%w", err)
	}
	end := i.serve(h, func() ([]byte, error) {
		status, err := f.Call(i.context(h))
		if err == nil && uint32(status[0]) != 0 {
			err = fault.New(fault.Internal, "the interpreter failed with status %d", uint32(status[0]))
		}
		return nil, err
	}, crashFault)
	return end.Fault
}

// Size is the size of the memory.
func (f *Frozen) Size() int64 { return int64(f.state.Size()) }

// Close releases the state. Instances that went on from it keep what they have.
func (f *Frozen) Close() {
	f.ledger.add(-f.Size())
	_ = f.state.Close()
}

// GoOn gives a fresh instance a state. The numbers of files that were open stay taken,
// as after [Instance.Load]. If it fails the instance is broken.
func (i *Instance) GoOn(f *Frozen) error {
	i.broken = true
	if err := i.mems.from.GoOn(f.state, i.main); err != nil {
		return err
	}
	return i.occupy(f.stale)
}
