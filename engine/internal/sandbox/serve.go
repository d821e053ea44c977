package sandbox

import (
	"context"
	"time"

	"github.com/wexec/wexec/fault"
)

// End is how a run in an instance ended.
type End struct {
	Fault   *fault.Error // why the guest did not return; nil if it did
	Outcome Outcome
	Output  []byte // of a foreign plugin

	Fuel       int64
	MemoryPeak int64
	GuestTime  time.Duration // without waiting for the host
}

// Serve runs a program to its end.
func (i *Instance) Serve(h *Host) End {
	return i.serve(h, func() ([]byte, error) { return nil, i.callEntry(h) }, crashFault)
}

// ServeFunction calls a function of a foreign plugin.
func (i *Instance) ServeFunction(h *Host, name string, input []byte, config map[string]string) End {
	return i.serve(h, func() ([]byte, error) { return i.callFunction(h, name, input, config) }, pluginFault)
}

// serve binds the instance to a host while call runs, and collects what the run
// used. A fault of the guest itself is passed to crashed, which says what it is
// for the program's author.
func (i *Instance) serve(h *Host, call func() ([]byte, error), crashed func(*fault.Error, error) *fault.Error) End {
	h.library, h.memory, h.fuel.level = i.library, i.main.Memory(), i.fuel
	i.fuel.Set(0)
	i.host = h
	i.mems.limit, i.mems.armed = h.Limits.Memory, true
	if h.Slot != nil {
		i.mems.reserve = h.reserve
	}
	begun, parked := time.Now(), h.Slot.parkedTime()

	output, err := call()

	took := time.Since(begun)
	i.served += took
	i.mems.disarm()
	h.deadline.Stop()
	if h.calls != nil {
		h.calls.Close()
	}
	i.host = nil
	h.Outputs.close()

	level := int64(i.fuel.Get())
	end := End{Outcome: h.outcome, Output: output, MemoryPeak: i.mems.size(),
		Fuel: min(h.fuel.Used(level), h.Limits.Fuel), GuestTime: max(took-(h.Slot.parkedTime()-parked), 0)}
	h.used.Store(end.Fuel)
	switch {
	case err != nil:
		switch end.Fault = trapFault(err); {
		case end.Fault.Code != fault.Internal:
		case h.ctx.Err() != nil:
			end.Fault = Interrupted(h.ctx)
		default:
			end.Fault = crashed(end.Fault, err)
		}
	case !h.fuel.Settle(level):
		end.Fault = fuelFault(h.Limits.Fuel)
	case h.ctx.Err() != nil:
		end.Fault = Interrupted(h.ctx)
	}
	i.broken = end.Fault != nil
	return end
}

// NeverStarted reports whether the guest failed before its first act, as one
// does that has lost its code.
func (h *Host) NeverStarted() bool { return !h.started }

// Broken reports whether a run in the instance did not end normally.
func (i *Instance) Broken() bool { return i.broken }

// MemorySize returns the size of the guest's memory.
func (i *Instance) MemorySize() int64 { return i.mems.size() }

// Close ends the instance. Nothing may run in it.
func (i *Instance) Close(ctx context.Context) error {
	i.mems.disarm()
	if i.broken {
		i.mems.from.DoNotReuse() // its memory may be in any state
	}
	err := i.plugin.Close(ctx)
	if i.functions != nil {
		i.tables.Release(i.functions)
		i.functions = nil
	}
	i.mems.ledger.add(-InstanceShare)
	return err
}
