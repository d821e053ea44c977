package sandbox

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/engine/internal/tokens"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/policy"
)

// Options describe one run. Only Limits and World are required: without Tools
// the guest can call nothing and sees no files.
type Options struct {
	Limits policy.Limits
	World  world.World
	Input  []byte        // the input document, see wasm-modules/ABI.md
	Uptime time.Duration // monotonic time before the run, in a session
	Cancel context.CancelCauseFunc

	Tools   *hostfns.Run
	Ordered bool // answers are delivered in the order of their calls
	Compile func(ctx context.Context, file, code string) (string, error)
	Look    func(path string) // called for each path that the program names

	Slot     *Slot
	Relieve  func() // frees memory that is idle
	Sinks    OutputSinks
	Value    int64    // bytes of a value that may be larger than the output; 0: it is bounded by the output
	Observer Observer // nil: the run is not observed

	// Of a durable run: how a guest without calls sleeps, the time that was used in other
	// processes, and how much of stdout and stderr they handed out.
	Sleep func(ctx context.Context, d time.Duration) error
	Spent time.Duration
	Shown [2]int64
}

// Observer is told how a run goes on.
type Observer interface {
	// Computed is called a few times a second while the guest computes.
	Computed()
	// AskingPeople is called when the run waits only for people.
	AskingPeople()
}

// Host is the host's side of one run. The guest and its host functions are one
// goroutine, which owns the host; only Fuel and Waiting may be called by others.
type Host struct {
	Options
	Outputs    *Outputs // what the run wrote
	ReadStdin  bool     // the program read its standard input
	ToolTokens int64    // estimated tokens of the answers that the program read

	ctx      context.Context
	calls    *hostfns.Calls
	files    experimentalsys.FS // nil: none
	library  experimentalsys.FS // at /lib; nil: none
	memory   hostfns.Memory
	deadline *Deadline
	fuel     fuelMeter
	used     atomic.Int64 // fuel, as of the last call or slice

	outcome  Outcome
	stopped  *fault.Error       // why a host function ended the run
	started  bool               // the guest has asked for fuel, its first act
	readings int                // of the clock
	drawn    int64              // random bytes
	internal map[int64]struct{} // calls in flight that the prelude made
	web      webResponse        // the last one of a foreign plugin
}

// Outcome is what a guest passed to finish.
type Outcome struct {
	Given bool
	Kind  uint32
	Data  []byte
	Large bool // a value that is not in the outputs, see [Options]
}

// webResponse is what a plugin can ask about the response it received last.
type webResponse struct {
	status  uint32
	headers []byte // a JSON object
}

// Kinds of an outcome, from wasm-modules/ABI.md.
const (
	OutcomeValue uint32 = iota
	OutcomeError
	OutcomeNothing
)

// maxErrorSize bounds the error that a guest reports.
const maxErrorSize = 256 << 10

// preludePrefix begins the names of calls that the prelude makes.
var preludePrefix = []byte("wexec:")

// NewHost returns the host of a run, and starts its deadline.
func NewHost(ctx context.Context, o Options) (*Host, error) {
	h := &Host{Options: o, ctx: ctx, Outputs: NewOutputs(o.Limits.Output, o.Sinks)}
	h.Outputs.Stdout.skip, h.Outputs.Stderr.skip = o.Shown[0], o.Shown[1]
	if o.Sleep == nil {
		o.Sleep = o.World.Sleep
	}
	if o.Tools != nil {
		provided, err := o.Tools.FS()
		if err != nil {
			return nil, err
		}
		h.files = o.World.Files(provided, o.Cancel)
		h.calls = hostfns.NewCalls(o.Tools, hostfns.CallsOptions{
			Ordered: o.Ordered, Order: o.World.AnswerOrder(), Sleep: o.Sleep,
			Park: o.Slot.Park, Resume: h.unpark, People: h.askingPeople, Compile: o.Compile, Core: o.Slot.Borrow,
			Span: trace.SpanFromContext(ctx),
		})
	}
	h.deadline = NewDeadline(o.Limits.Time, func() { o.Cancel(timeFault(o.Limits.Time, h.calls.Awaited())) })
	h.deadline.spent = min(o.Spent, o.Limits.Time)
	h.fuel.Budget, h.fuel.reported = o.Limits.Fuel, time.Now()
	return h, nil
}

// Fuel returns the fuel that was used when it was last read.
func (h *Host) Fuel() int64 { return h.used.Load() }

// Spent returns the time that counts for the limit of time.
func (h *Host) Spent() time.Duration { return h.deadline.Spent() }

// Waiting reports whether the run waits only for people.
func (h *Host) Waiting() bool { return h.deadline.isPaused() }

// UsedChance reports whether the program may have seen the time or a random
// number. The guests draw every seed when a program first uses it, so the host
// sees all that a program takes of either; the interpreter itself reads the
// clock a number of times before the program begins.
func (h *Host) UsedChance(interpreterReadings int) bool {
	return h.readings > interpreterReadings || h.drawn > 0
}

// fail ends the run from inside a host function.
func (h *Host) fail(f *fault.Error) {
	h.stopped = f
	panic(&stop{f})
}

// failOn ends the run if err is not nil.
func (h *Host) failOn(err error) {
	if err == nil {
		return
	}
	if f := Interrupted(h.ctx); f != nil {
		h.fail(f)
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.New(fault.CodeOf(err), "%w", err)
	}
	h.fail(f)
}

// checkContext ends the run if its context has ended.
func (h *Host) checkContext() {
	if h.ctx.Err() != nil {
		h.fail(Interrupted(h.ctx))
	}
}

func (h *Host) unpark() { h.Slot.Unpark(h.ctx) }

// reserve waits until the guest may grow by n bytes.
func (h *Host) reserve(n int64) {
	if h.Slot.from.ledger.Fits(n) {
		return
	}
	h.calls.Launch()
	h.failOn(h.Slot.Reserve(h.ctx, n, h.Relieve))
}

// askingPeople stops the deadline while only people are waited for.
func (h *Host) askingPeople(only bool) {
	if !only {
		h.deadline.Resume()
		return
	}
	h.deadline.Pause()
	if h.Observer != nil {
		h.Observer.AskingPeople()
	}
}

// The methods below are host functions, see wasm-modules/ABI.md.

// refill is called when the guest's slice of fuel is used up.
func (h *Host) refill(level int64) int64 {
	h.started = true
	h.calls.Launch()
	now := h.fuel.pace(time.Now(), h.Slot.parkedTime())
	h.rest(h.fuel.rest(h.Limits.CPU))
	h.deadline.check(now)
	h.checkContext()
	if h.Observer != nil {
		h.used.Store(h.fuel.Used(level))
		if h.fuel.report(now) {
			h.Observer.Computed()
		}
	}
	next, ok := h.fuel.Refill(level)
	if !ok {
		h.fail(fuelFault(h.Limits.Fuel))
	}
	return next
}

// rest gives the core away for a while.
func (h *Host) rest(d time.Duration) {
	if d <= 0 {
		return
	}
	h.Slot.Park()
	defer h.unpark()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.ctx.Done():
	}
}

func (h *Host) inputRead(ptr, length uint32) int32 {
	n := min(uint64(length), uint64(len(h.Input)))
	if !h.memory.Write(ptr, h.Input[:n]) {
		h.fail(boundsFault())
	}
	return int32(n)
}

func (h *Host) callStart(name, nameLen, args, argsLen uint32) int64 {
	if h.calls == nil {
		h.fail(fault.New(fault.Internal, "the guest called a tool, but has none"))
	}
	if h.Observer != nil {
		h.used.Store(h.fuel.Used(int64(h.fuel.level.Get())))
	}
	id, err := h.calls.Start(h.memory, name, nameLen, args, argsLen)
	h.failOn(err)
	if n, ok := h.memory.Read(name, nameLen); ok && bytes.HasPrefix(n, preludePrefix) {
		if h.internal == nil {
			h.internal = map[int64]struct{}{}
		}
		h.internal[id] = struct{}{}
	}
	return id
}

func (h *Host) callWait(id, timeout int64) int64 {
	if h.calls == nil {
		return -1
	}
	got, err := h.calls.Wait(id, time.Duration(timeout))
	h.failOn(err)
	h.checkContext()
	return got
}

func (h *Host) answerSize(id int64) int64 {
	if h.calls == nil {
		return -1
	}
	return h.calls.Size(id)
}

// answerRead also counts the tokens of answers that
// a model would have had to read, had it made the call itself.
func (h *Host) answerRead(id int64, ptr, length uint32) int32 {
	if h.calls == nil {
		return 0
	}
	kind := h.calls.Size(id) >> 32
	n, err := h.calls.Read(h.memory, id, ptr, length)
	h.failOn(err)
	if _, ok := h.internal[id]; ok {
		delete(h.internal, id)
	} else if kind != int64(hostfns.Bytes) && n > 0 {
		if data, ok := h.memory.Read(ptr, uint32(n)); ok {
			h.ToolTokens += tokens.Estimate(data)
		}
	}
	return n
}

func (h *Host) callCancel(id int64) {
	if h.calls != nil {
		h.calls.Cancel(id)
	}
}

// finish takes the outcome. The last outcome counts.
func (h *Host) finish(kind, ptr, length uint32) {
	h.calls.Launch()
	if kind > OutcomeNothing {
		h.fail(fault.New(fault.Internal, "the guest finished with the unknown kind %d", kind))
	}
	large := false
	if kind == OutcomeValue {
		err := h.Outputs.Charge(int(length))
		if large = err != nil && int64(length) <= h.Value; !large {
			h.failOn(err)
		}
	}
	if kind == OutcomeError && length > maxErrorSize {
		h.fail(fault.New(fault.GuestException, "the program failed with a message of %s", units.FormatSize(int64(length))))
	}
	data, ok := h.memory.Read(ptr, length)
	if !ok {
		h.fail(boundsFault())
	}
	h.outcome = Outcome{Given: true, Kind: kind, Data: slices.Clone(data), Large: large}
}
