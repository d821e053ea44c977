package hostfns

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// Memory is the linear memory of a guest. Read gives a view that holds until
// the guest runs again.
type Memory interface {
	Read(ptr, length uint32) ([]byte, bool)
	Write(ptr uint32, data []byte) bool
}

// CallsOptions say how the calls of one guest behave. The zero value delivers
// answers as they come and sleeps in real time.
type CallsOptions struct {
	// Ordered delivers answers in the order in which their calls were started,
	// decides calls in that order, and has timers wait for calls in flight.
	Ordered bool
	// Order lists ids in the order in which their answers were announced in a
	// run that is repeated, 0 where the guest waited in vain. Beyond its end
	// the order is as above.
	Order []uint64
	// Sleep waits while nothing is in flight; a deterministic run moves its
	// virtual clock on instead. Nil sleeps in real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Park is called before the guest waits and Resume before it goes on, so
	// that a waiting run can give its core to another. Resume may block until
	// a core is free. Nil does nothing.
	Park, Resume func()
	// People is called, between Park and Resume, with true when nothing but
	// people is waited for from now on, and with false when that ends: the
	// run's clock stands still in between. Nil does nothing.
	People func(only bool)
	// Compile makes JavaScript of a TypeScript file that a program imports. It
	// is called from goroutines of calls. Nil: there is no such call.
	Compile func(ctx context.Context, file, code string) (string, error)
}

// maxFlying bounds the calls of which the guest has not read the answer.
const maxFlying = 10_000

// Bounds of what a guest hands over in one call.
const (
	maxNameSize = 1 << 10
	maxArgsSize = 64 << 20
)

// Calls is the part of a run that guest code talks to: it starts calls, waits
// for any of them and reads the answers. The guest is one thread, so its
// methods are called by one goroutine at a time. An error of a method ends the
// run.
//
// Calls run in goroutines of their own, but for one that the guest waits for at
// once and alone, as most are: that one is made by the goroutine that waits.
// Therefore the call that was started last is held until the guest starts
// another, waits, or is about to be busy otherwise and says so with Launch.
type Calls struct {
	run  *Run
	opts CallsOptions
	wake chan struct{}
	done sync.WaitGroup

	tool   string    // of the call before: many programs call one in a loop
	held   *inFlight // started last, and not on its way yet; the guest's own
	beside aside     // where the provider of a call works that the guest makes itself

	mu      sync.Mutex
	calls   map[int64]*inFlight
	order   []int64 // answers that were not announced, in the order they came
	flying  int     // calls without an answer
	asking  int     // of those, calls that wait for a person
	waiting waiting
	tail    *turn
	closed  bool
}

type inFlight struct {
	id        int64
	tool      string
	args      []byte
	ctx       context.Context
	cancel    context.CancelFunc
	flight    flight
	answer    Answer
	arrived   bool
	announced bool
	asking    bool
	dropped   bool
}

// waiting is what the parked guest waits for.
type waiting struct {
	parked bool
	id     int64 // 0: any call
	timed  bool  // a timer would wake it too
	people bool  // only people are waited for
}

// NewCalls gives the guest-facing half of a run.
func NewCalls(run *Run, opts CallsOptions) *Calls {
	return &Calls{run: run, opts: opts, wake: make(chan struct{}, 1), calls: map[int64]*inFlight{}, beside: aside{ctx: run.Context()}}
}

// Start starts a host call and returns its id, from 1 on. Whatever is wrong
// with the call arrives as its answer.
func (c *Calls) Start(mem Memory, name, nameLen, args, argsLen uint32) (int64, error) {
	if err := c.run.Err(); err != nil {
		return 0, err
	}
	if nameLen > maxNameSize || argsLen > maxArgsSize {
		return 0, fault.New(fault.GuestException, "a call with %d bytes of arguments is more than the host takes", argsLen).
			WithHint("hand the data over in parts of at most %d MiB", maxArgsSize>>20)
	}
	n, ok1 := mem.Read(name, nameLen)
	a, ok2 := mem.Read(args, argsLen)
	if !ok1 || !ok2 {
		return 0, fault.New(fault.GuestException, "a host call points outside the guest's memory")
	}
	if err := c.run.spend(int64(argsLen)); err != nil { // before the host has a copy
		return 0, err
	}
	if string(n) != c.tool {
		c.tool = string(n)
	}
	tool, doc := c.tool, slices.Clone(a)
	c.Launch()

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, fault.New(fault.Cancelled, "the run has ended")
	}
	if len(c.calls) >= maxFlying {
		return 0, fault.New(fault.LimitToolCalls, "more than %d calls are in flight or have answers that nobody read", maxFlying).
			WithHint("await calls before starting more")
	}
	if err := c.run.charge(tool); err != nil {
		return 0, err
	}
	id := int64(c.run.number.Add(1))
	call := &inFlight{id: id, tool: tool, args: doc}
	call.ctx, call.cancel = context.WithCancel(c.run.Context())
	call.flight = flight{number: uint64(id), calls: c, call: call, compile: c.opts.Compile}
	if c.opts.Ordered {
		call.flight.turn = newTurn(c.tail)
		c.tail = call.flight.turn
	}
	c.calls[id] = call
	c.flying++
	c.done.Add(1)
	c.held = call
	return id, nil
}

// Launch sends a call that is held on its way.
func (c *Calls) Launch() {
	if c == nil || c.held == nil {
		return
	}
	call := c.held
	c.held = nil
	c.run.work.run(func() { c.make(call) })
}

// toMake is the call that the guest makes itself: the one that it waits for,
// where it waits for nothing else. Any other goes on its way. The lock is held.
func (c *Calls) toMake(id int64, timeout time.Duration) *inFlight {
	call := c.held
	if call == nil {
		return nil
	}
	if timeout >= 0 || c.flying > 1 || len(c.order) > 0 || (id != 0 && id != call.id) {
		c.Launch()
		return nil
	}
	c.held = nil
	return call
}

// make runs one call to its end.
func (c *Calls) make(call *inFlight) {
	defer c.done.Done()
	defer call.cancel()
	answer, err := func() (answer Answer, err error) {
		defer call.flight.turn.end()
		defer func() {
			if p := recover(); p != nil {
				c.run.table.log().Error("panic in a host call", "tool", clean(call.tool, 200), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = fault.New(fault.Internal, "the host failed in a call of %s", clean(call.tool, 200))
			}
		}()
		return c.run.call(call.ctx, call.tool, call.args, &call.flight)
	}()
	if err != nil {
		if failure, ok := err.(*Failure); ok {
			answer = failure.answer()
		} else if call.ctx.Err() == nil || c.run.Context().Err() != nil {
			c.run.fail(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !call.dropped {
		c.landed(call)
		call.answer, call.arrived = answer, true
		if c.opts.Ordered {
			at, _ := slices.BinarySearch(c.order, call.id)
			c.order = slices.Insert(c.order, at, call.id)
		} else {
			c.order = append(c.order, call.id)
		}
	}
	c.changed()
}

// landed counts a call as in flight no more. The lock is held.
func (c *Calls) landed(call *inFlight) {
	c.flying--
	if call.asking {
		call.asking = false
		c.asking--
	}
}

func (c *Calls) setAsking(call *inFlight, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.asking == on || call.dropped {
		return
	}
	call.asking = on
	if on {
		c.asking++
	} else {
		c.asking--
	}
	c.changed()
}

// changed wakes the guest and tells whether only people are waited for. The
// lock is held.
func (c *Calls) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.tellPeople()
}

func (c *Calls) tellPeople() {
	w := &c.waiting
	only := w.parked && !w.timed
	if only && w.id != 0 {
		call := c.calls[w.id]
		only = call != nil && call.asking
	} else if only {
		only = c.asking > 0 && c.asking == c.flying && len(c.order) == 0
	}
	if only != w.people {
		w.people = only
		if c.opts.People != nil {
			c.opts.People(only)
		}
	}
}

// Wait waits until call id (0: any call) has an answer that was not announced
// before, and returns the id; 0 when the timeout has passed, which is negative
// for none; -1 when there is nothing to wait for. With nothing in flight and a
// timeout it sleeps.
func (c *Calls) Wait(id int64, timeout time.Duration) (int64, error) {
	ctx := c.run.Context()
	if err := c.run.Err(); err != nil {
		return 0, err
	}
	c.mu.Lock()
	mine := c.toMake(id, timeout)
	idle := (c.flying == 0 && len(c.order) == 0) || (id != 0 && c.calls[id] == nil)
	// In a replay the record says whether an answer came before the time was up.
	vain := !idle && timeout >= 0 && len(c.opts.Order) > 0 && c.opts.Order[0] == 0
	if vain {
		c.opts.Order = c.opts.Order[1:]
	} else if got, ok := c.take(id); ok {
		c.mu.Unlock()
		return got, nil
	}
	if idle && (timeout < 0 || id != 0) {
		c.mu.Unlock()
		return -1, nil
	}
	certain := !idle && (c.opts.Ordered || c.expected() != 0)
	if vain || (timeout == 0 && !certain) {
		c.mu.Unlock()
		if !idle {
			c.run.deliveredNothing()
		}
		return 0, nil
	}
	timed := timeout >= 0 && !certain
	c.waiting = waiting{parked: true, id: id, timed: timed}
	if c.opts.Park != nil {
		c.opts.Park()
	}
	c.tellPeople()
	c.mu.Unlock()

	if mine != nil {
		c.makeHere(mine)
	}
	got, err := c.wait(ctx, id, timeout, timed, idle)

	c.mu.Lock()
	c.waiting.parked = false
	c.tellPeople()
	c.mu.Unlock()
	if c.opts.Resume != nil {
		c.opts.Resume()
	}
	if err == nil {
		err = c.run.Err()
	}
	if err == nil && got == 0 && !idle {
		c.run.deliveredNothing()
	}
	return got, err
}

// makeHere makes a call while the guest waits for it.
func (c *Calls) makeHere(call *inFlight) {
	call.flight.turn.isDue()
	call.flight.beside = &c.beside
	c.make(call)
}

func (c *Calls) wait(ctx context.Context, id int64, timeout time.Duration, timed, idle bool) (int64, error) {
	if idle && c.opts.Sleep != nil {
		return 0, c.opts.Sleep(ctx, timeout)
	}
	var over <-chan time.Time
	if timed {
		t := time.NewTimer(timeout)
		defer t.Stop()
		over = t.C
	}
	for {
		c.mu.Lock()
		got, ok := c.take(id)
		if !ok {
			c.ask(id)
		}
		c.mu.Unlock()
		if ok {
			return got, nil
		}
		select {
		case <-c.wake:
		case <-over:
			return 0, nil
		case <-ctx.Done():
			return 0, c.run.Err()
		}
	}
}

// ask lets the answer in that the guest waits for, in an ordered run. The lock
// is held.
func (c *Calls) ask(id int64) {
	if id == 0 {
		id = c.expected()
	}
	if call := c.calls[id]; call != nil && c.opts.Ordered {
		call.flight.turn.isDue()
	}
}

// take announces an answer. The lock is held.
func (c *Calls) take(id int64) (int64, bool) {
	if id != 0 {
		call := c.calls[id]
		if call == nil || !call.arrived {
			return 0, false
		}
		if at := slices.Index(c.order, id); at >= 0 {
			c.order = slices.Delete(c.order, at, at+1)
		}
		c.announce(id, call)
		return id, true
	}
	if len(c.order) == 0 {
		return 0, false
	}
	at := 0
	if next := c.expected(); next != 0 {
		if at = slices.Index(c.order, next); at < 0 {
			return 0, false
		}
	}
	first := c.order[at]
	c.order = slices.Delete(c.order, at, at+1)
	c.announce(first, c.calls[first])
	return first, true
}

// announce notes that the guest knows of an answer.
func (c *Calls) announce(id int64, call *inFlight) {
	if call.announced {
		return
	}
	call.announced = true
	c.run.delivered(uint64(id))
	if len(c.opts.Order) > 0 && c.opts.Order[0] == uint64(id) {
		c.opts.Order = c.opts.Order[1:]
	}
}

// expected is the call whose turn it is to be announced, or 0 where any may be.
func (c *Calls) expected() int64 {
	if len(c.opts.Order) > 0 && c.opts.Order[0] != 0 {
		if call := c.calls[int64(c.opts.Order[0])]; call != nil && !call.announced {
			return int64(c.opts.Order[0])
		}
	}
	if c.opts.Ordered {
		return c.firstUnannounced()
	}
	return 0
}

// firstUnannounced is the call whose turn it is in an ordered run.
func (c *Calls) firstUnannounced() int64 {
	first := int64(0)
	for id, call := range c.calls {
		if !call.announced && (first == 0 || id < first) {
			first = id
		}
	}
	return first
}

// Size is kind<<32 | length of an answer that has arrived, or -1.
func (c *Calls) Size(id int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[id]
	if call == nil || !call.arrived {
		return -1
	}
	return int64(call.answer.Kind)<<32 | int64(len(call.answer.Data))
}

// Read copies an answer into guest memory, forgets it, and returns the number
// of bytes copied: at most length, and 0 where there is no answer.
func (c *Calls) Read(mem Memory, id int64, ptr, length uint32) (int32, error) {
	c.mu.Lock()
	call := c.calls[id]
	if call == nil || !call.arrived {
		c.mu.Unlock()
		return 0, nil
	}
	if at := slices.Index(c.order, id); at >= 0 {
		c.order = slices.Delete(c.order, at, at+1)
	}
	delete(c.calls, id)
	c.mu.Unlock()
	data := call.answer.Data
	if uint64(len(data)) > uint64(length) {
		data = data[:length]
	}
	if !mem.Write(ptr, data) {
		return 0, fault.New(fault.GuestException, "a host call points outside the guest's memory")
	}
	return int32(len(data)), nil
}

// Cancel drops a call: the tool is told, and no answer arrives.
func (c *Calls) Cancel(id int64) {
	c.Launch()
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[id]
	if call == nil {
		return
	}
	delete(c.calls, id)
	if at := slices.Index(c.order, id); at >= 0 {
		c.order = slices.Delete(c.order, at, at+1)
	}
	if !call.arrived {
		c.landed(call)
	}
	call.dropped = true
	call.cancel()
	c.changed()
}

// Close cancels every call in flight and waits until they have ended.
func (c *Calls) Close() {
	c.Launch()
	c.mu.Lock()
	c.closed = true
	for _, call := range c.calls {
		call.cancel()
	}
	c.mu.Unlock()
	c.done.Wait()
	c.beside.close()
}

// flight is what the call path and [Calls] tell each other about one call. The
// zero value belongs to a call that a Go host makes.
type flight struct {
	number uint64
	turn   *turn
	calls  *Calls
	call   *inFlight
	// beside is where the provider works while the guest's own goroutine makes
	// the call. Nil: in a goroutine that the call's own hands it to.
	beside *aside
	// compile is CallsOptions.Compile.
	compile func(ctx context.Context, file, code string) (string, error)
}

// asking tells whether the call waits for a person.
func (f *flight) asking(on bool) {
	if f.calls != nil {
		f.calls.setAsking(f.call, on)
	}
}

// besides is where the provider of the call may work. One that has a limit of
// its own works elsewhere: an aside is left for the end of the run alone.
func (f *flight) besides(limit time.Duration) *aside {
	if limit > 0 {
		return nil
	}
	return f.beside
}
