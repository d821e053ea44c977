package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/meter"
)

// run is one program while it runs. The guest and its host functions are one
// goroutine, which owns everything here but what says otherwise.
type run struct {
	ctx    context.Context // ends with its deadline, its caller, or a fault of the host
	limits Limits

	tank   meter.Tank
	input  []byte // the input document, see wasm-modules/ABI.md
	memory hostfns.Memory
	calls  *hostfns.Calls
	tools  *hostfns.Run

	out     *outputs
	clock   *clock
	time    *deadline
	entropy io.Reader
	stdin   io.Reader
	files   experimentalsys.FS
	witness *witness // keeps what it sees; nil: nobody

	gauge *gauge // shows its fuel; nil: nobody looks

	ledger  *ledger
	relieve func() // ends idle sessions where memory is short
	cores   *admission
	core    bool          // whether it holds a core now
	parked  time.Duration // how long it has waited for the host
	since   time.Time     // when it began to wait

	sliced     time.Time     // when the guest got its last slice of fuel
	parkedThen time.Duration // how long it had waited by then
	yielded    time.Time     // when others could last have its processor

	outcome outcome
	stopped *fault.Error       // why a host function ended it
	asked   bool               // the guest has asked for fuel, as its first act
	drawn   int64              // random bytes taken
	heard   bool               // it asked for standard input
	own     map[int64]struct{} // calls in flight that are the prelude's own
	inTools int64              // estimated tokens of tool answers
}

// outcome is what a guest handed over with finish.
type outcome struct {
	given bool
	kind  uint32
	data  []byte
}

// The kinds of an outcome, from wasm-modules/ABI.md.
const (
	outcomeValue uint32 = iota
	outcomeError
	outcomeNothing
)

// maxErrorSize bounds what a guest may say about its own failure.
const maxErrorSize = 256 << 10

// ownCalls begins the names of the prelude's own calls.
var ownCalls = []byte("wexec:")

// fail ends the run from inside a host function.
func (r *run) fail(f *fault.Error) {
	r.stopped = f
	panic(&stop{f})
}

// failOn ends the run where err is not nil.
func (r *run) failOn(err error) {
	if err == nil {
		return
	}
	if f := interrupted(r.ctx); f != nil {
		r.fail(f)
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.New(fault.CodeOf(err), "%w", err)
	}
	r.fail(f)
}

// look ends the run where its time is up or nobody wants it any more.
func (r *run) look() {
	if r.ctx.Err() != nil {
		r.fail(interrupted(r.ctx))
	}
}

// refill is asked by the guest when its slice of fuel is used up.
func (r *run) refill(level int64) int64 {
	r.asked = true
	r.calls.Launch()
	now := time.Now()
	r.pace(now)
	r.look()
	r.gauge.refilled(now, r.tank.Used(level))
	next, ok := r.tank.Refill(level)
	if !ok {
		r.fail(fuelOver(r.limits.Fuel))
	}
	return next
}

const (
	// turn is how long a guest keeps its processor before others may have it.
	turn = time.Millisecond
	// longSlice and shortSlice are what a slice of fuel may take: where the
	// machine is slow, or the program does what costs more than it is charged
	// for, slices get smaller and larger again. What is charged stays the same.
	longSlice, shortSlice = 2 * time.Millisecond, time.Millisecond / 2
	// leastSlice bounds how small they get.
	leastSlice = meter.DefaultSlice / 32
)

// pace keeps the guest from holding its processor for long: compiled code
// cannot be interrupted, and the collector, timers and other guests wait for
// it.
func (r *run) pace(now time.Time) {
	if r.sliced.IsZero() {
		r.yielded = now // its first turn: to yield wakes up a processor that is idle
	} else {
		switch took := now.Sub(r.sliced) - (r.parked - r.parkedThen); {
		case took > longSlice:
			r.tank.Slice = max(r.slice()/2, leastSlice)
		case took < shortSlice:
			r.tank.Slice = min(r.slice()*2, meter.DefaultSlice)
		}
	}
	if now.Sub(r.yielded) > turn {
		runtime.Gosched()
		now = time.Now()
		r.yielded = now
	}
	r.sliced, r.parkedThen = now, r.parked
	r.time.look(now)
}

// slice is how much fuel is granted at once now.
func (r *run) slice() int64 {
	if r.tank.Slice == 0 {
		return meter.DefaultSlice
	}
	return r.tank.Slice
}

// fuelOver is the fault of a run whose fuel is used up.
func fuelOver(limit int64) *fault.Error {
	return fault.New(fault.LimitFuel, "the program needs more than the %s units of fuel it may use", count(limit)).
		WithHint("do less work, or allow more with --fuel %s", count(2*min(limit, math.MaxInt64/2)))
}

// timeOver is the fault of a run whose time is up.
func timeOver(limit time.Duration) *fault.Error {
	return fault.New(fault.LimitTime, "the program ran longer than the %s it may take", limit).
		WithHint("do less work, or allow more with --time %s", (2 * limit).Round(time.Millisecond))
}

func (r *run) inputRead(ptr, length uint32) int32 {
	n := min(uint64(length), uint64(len(r.input)))
	if !r.memory.Write(ptr, r.input[:n]) {
		r.fail(outOfBounds())
	}
	return int32(n)
}

func (r *run) callStart(name, nameLen, args, argsLen uint32) int64 {
	if r.calls == nil { // a compiler has nobody to call
		r.fail(fault.New(fault.Internal, "the guest calls tools and may not"))
	}
	r.gauge.read(&r.tank)
	id, err := r.calls.Start(r.memory, name, nameLen, args, argsLen)
	r.failOn(err)
	if n, ok := r.memory.Read(name, nameLen); ok && bytes.HasPrefix(n, ownCalls) {
		if r.own == nil {
			r.own = map[int64]struct{}{}
		}
		r.own[id] = struct{}{}
	}
	return id
}

func (r *run) callWait(id, timeout int64) int64 {
	if r.calls == nil {
		return -1
	}
	got, err := r.calls.Wait(id, time.Duration(timeout))
	r.failOn(err)
	r.look()
	return got
}

func (r *run) answerSize(id int64) int64 {
	if r.calls == nil {
		return -1
	}
	return r.calls.Size(id)
}

func (r *run) callCancel(id int64) {
	if r.calls != nil {
		r.calls.Cancel(id)
	}
}

func (r *run) answerRead(id int64, ptr, length uint32) int32 {
	if r.calls == nil {
		return 0
	}
	kind := r.calls.Size(id) >> 32
	n, err := r.calls.Read(r.memory, id, ptr, length)
	r.failOn(err)
	if _, own := r.own[id]; own {
		delete(r.own, id)
	} else if kind != int64(hostfns.Bytes) && n > 0 {
		// what a model would have had to read, had it made the call itself
		if data, ok := r.memory.Read(ptr, uint32(n)); ok {
			r.inTools += tokens(data)
		}
	}
	return n
}

// finish takes the outcome; the last one holds.
func (r *run) finish(kind, ptr, length uint32) {
	r.calls.Launch()
	if kind > outcomeNothing {
		r.fail(fault.New(fault.Internal, "the guest gave an outcome of the unknown kind %d", kind))
	}
	if kind == outcomeValue && r.out.take(int(length)) < int(length) {
		r.fail(r.out.over())
	}
	if kind == outcomeError && length > maxErrorSize {
		r.fail(fault.New(fault.GuestException, "the program failed with a message of %s", size(int64(length))))
	}
	data, ok := r.memory.Read(ptr, length)
	if !ok {
		r.fail(outOfBounds())
	}
	r.outcome = outcome{given: true, kind: kind, data: slices.Clone(data)}
}

func outOfBounds() *fault.Error {
	return fault.New(fault.Internal, "the guest named memory that it does not have")
}

// sleep lets time pass for the program.
func (r *run) sleep(ns int64) {
	r.look()
	if ns <= 0 {
		return
	}
	r.calls.Launch()
	r.park()
	err := r.clock.Sleep(r.ctx, time.Duration(ns))
	r.unpark()
	r.failOn(err)
	r.look()
}

// park gives the run's core to another while it waits for the host.
func (r *run) park() {
	r.since = time.Now()
	if r.core {
		r.core = false
		r.cores.leave()
	}
}

// room waits until the run may grow by n bytes. Other runs hold the memory
// until then; idle sessions give theirs up.
func (r *run) room(n int64) { r.failOn(r.waitForRoom(n)) }

func (r *run) waitForRoom(n int64) error {
	if r.ledger.fits(n) {
		return nil
	}
	if r.relieve != nil {
		r.relieve()
	}
	if r.ledger.fits(n) {
		return nil
	}
	r.calls.Launch()
	r.park()
	err := r.cores.toGrow(r.ctx, func() bool { return r.ledger.fits(n) })
	r.core = err == nil
	r.parked += time.Since(r.since)
	return err
}

// unpark waits for a core. Without one the run has ended; what called it looks.
func (r *run) unpark() {
	if r.cores.comeBack(r.ctx) == nil {
		r.core = true
	}
	r.parked += time.Since(r.since)
}

// readInput reads the standard input. It may wait for whoever writes it.
func (r *run) readInput(p []byte) (int, error) {
	r.look()
	r.heard = true
	if r.stdin == nil {
		return 0, io.EOF
	}
	r.calls.Launch()
	r.park()
	type read struct {
		n   int
		err error
	}
	// A reader cannot be interrupted, so it has a buffer and a goroutine of its
	// own; where the run ends first, what it reads is nobody's.
	got := make(chan read, 1)
	buf := make([]byte, min(len(p), 64<<10))
	go func() {
		n, err := r.stdin.Read(buf)
		got <- read{n, err}
	}()
	var one read
	select {
	case one = <-got:
	case <-r.ctx.Done():
	}
	r.unpark()
	r.look()
	n := copy(p, buf[:max(0, min(one.n, len(buf)))])
	if r.witness != nil {
		r.witness.took(p[:n])
	}
	if one.err != nil && !errors.Is(one.err, io.EOF) {
		return n, one.err
	}
	return n, nil
}
