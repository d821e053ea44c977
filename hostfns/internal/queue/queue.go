// Package queue schedules the host calls of one guest. It runs calls
// concurrently, hands out their answers in the order of their arrival or of
// their starts, and isolates work that may hang from the goroutines that wait
// for it.
//
// The package knows nothing of tools, policy or records: a [Job] is whatever its
// owner makes of it.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Answer is the result of a job: bytes, and how the guest reads them.
type Answer struct {
	Kind uint8
	Data []byte
}

// Job is one call of a guest. An error ends the run of the guest, except after
// the call was cancelled.
type Job interface {
	Do(ctx context.Context, t *Ticket) (Answer, error)
}

// Options configure a [Queue]. Context, Err, Fail and Announced are required.
type Options struct {
	// Context ends with the run.
	Context context.Context
	// Err returns why the run has to end, or nil.
	Err func() error
	// Fail ends the run.
	Fail func(error)
	// Announced is called with the number of each answer that the guest learns
	// of, and with 0 when the guest waited in vain.
	Announced func(id uint64)
	// Workers run the jobs.
	Workers *Workers

	// Ordered, Order, Sleep, Park, Resume and People are the options of the same
	// names in package hostfns.
	Ordered      bool
	Order        []uint64
	Sleep        func(ctx context.Context, d time.Duration) error
	Park, Resume func()
	People       func(only bool)

	// Durable is set for a run with a journal.
	Durable *Durable
}

// Durable is what a run with a journal needs of its queue.
type Durable struct {
	// After is how long the guest waits for people and timers until Park is called; zero
	// is forever. Timers that advance a virtual clock do not park.
	After time.Duration
	// Park ends the run, which goes on in another process at the latest at until. Zero: there
	// is no such time.
	Park func(until time.Time)
	// Left returns how long a wait lasts, which may have begun in another process.
	Left func(timeout time.Duration) time.Duration
	// Differs ends the run: the guest does not follow the recorded order of answers.
	Differs func()
}

// Max is the number of calls in a queue whose answers the guest has not read.
const Max = 10_000

// Errors of [Queue.Start].
var (
	ErrClosed = errors.New("the queue is closed")
	ErrFull   = errors.New("the queue is full")
)

// Queue holds the calls of one guest. The guest is one thread, so one goroutine
// at a time calls its methods.
//
// Most guests start a call, wait for it at once and have nothing else in flight.
// The waiting goroutine runs such a call itself, which saves a wake-up. Therefore
// the last started call is held until the guest starts another, waits, or
// reports with Launch that it will be busy.
type Queue struct {
	opts    Options
	wake    chan struct{}
	running sync.WaitGroup
	held    *Ticket // started last and not running yet
	handoff Handoff // for jobs that the waiting goroutine runs

	mu       sync.Mutex
	calls    map[int64]*Ticket
	arrived  []int64 // calls whose answers were not announced, in order of arrival, or of starts if ordered
	inFlight int     // calls without an answer
	asking   int     // of those, calls that wait for a person
	waiting  waiting
	last     *Ticket // started last, in an ordered queue
	closed   bool
}

// waiting is what the parked guest waits for.
type waiting struct {
	parked bool
	id     int64 // 0: any call
	timed  bool  // a timer would wake the guest too
	people bool  // only people are waited for, as last reported
}

// New returns an empty queue.
func New(opts Options) *Queue {
	return &Queue{opts: opts, wake: make(chan struct{}, 1), calls: map[int64]*Ticket{}, handoff: Handoff{ctx: opts.Context}}
}

// Start adds a call, which is held. Its id must be larger than those of earlier
// calls.
func (q *Queue) Start(id int64, job Job) error {
	q.Launch()
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case len(q.calls) >= Max:
		return ErrFull
	}
	t := &Ticket{queue: q, id: id, job: job}
	t.ctx, t.cancel = context.WithCancel(q.opts.Context)
	if q.opts.Ordered {
		t.decided, t.due = make(chan struct{}), make(chan struct{})
		if q.last != nil {
			t.previous = q.last.decided
		}
		q.last = t
	}
	q.calls[id] = t
	q.inFlight++
	q.running.Add(1)
	q.held = t
	return nil
}

// Launch runs a call that is held.
func (q *Queue) Launch() {
	if t := q.held; t != nil {
		q.held = nil
		q.opts.Workers.Go(func() { q.run(t) })
	}
}

// run runs one call to its end.
func (q *Queue) run(t *Ticket) {
	defer q.running.Done()
	defer t.cancel()
	answer, err := t.job.Do(t.ctx, t)
	t.Decided()
	if err != nil && (t.ctx.Err() == nil || q.opts.Context.Err() != nil) {
		q.opts.Fail(err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !t.dropped {
		q.settle(t)
		t.answer, t.arrived = answer, true
		at := len(q.arrived)
		if q.opts.Ordered {
			at, _ = slices.BinarySearch(q.arrived, t.id)
		}
		q.arrived = slices.Insert(q.arrived, at, t.id)
	}
	q.changed()
}

// settle counts a call as no longer in flight. The lock is held.
func (q *Queue) settle(t *Ticket) {
	q.inFlight--
	if t.asking {
		t.asking = false
		q.asking--
	}
}

// changed wakes the guest. The lock is held.
func (q *Queue) changed() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
	q.reportPeople()
}

// reportPeople tells the owner when it starts or ceases to be true that the
// guest waits for people only. The lock is held.
func (q *Queue) reportPeople() {
	w := &q.waiting
	only := w.parked && (!w.timed || q.opts.Durable != nil)
	if only && w.id != 0 {
		t := q.calls[w.id]
		only = t != nil && t.asking
	} else if only && w.timed && q.inFlight == 0 {
		only = len(q.arrived) == 0
	} else if only {
		only = q.asking > 0 && q.asking == q.inFlight && len(q.arrived) == 0
	}
	if only != w.people {
		w.people = only
		if q.opts.People != nil {
			q.opts.People(only)
		}
	}
}

// Answer returns the answer of a call if it has arrived, and optionally forgets
// the call.
func (q *Queue) Answer(id int64, forget bool) (Answer, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.calls[id]
	if t == nil || !t.arrived {
		return Answer{}, false
	}
	if forget {
		q.forget(id)
	}
	return t.answer, true
}

// forget removes a call. The lock is held.
func (q *Queue) forget(id int64) {
	q.unqueue(id)
	delete(q.calls, id)
}

// unqueue removes a call from those to be announced. The lock is held.
func (q *Queue) unqueue(id int64) {
	if at := slices.Index(q.arrived, id); at >= 0 {
		q.arrived = slices.Delete(q.arrived, at, at+1)
	}
}

// Cancel drops a call: its context ends, and no answer arrives.
func (q *Queue) Cancel(id int64) {
	q.Launch()
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.calls[id]
	if t == nil {
		return
	}
	q.forget(id)
	if !t.arrived {
		q.settle(t)
	}
	t.dropped = true
	t.cancel()
	q.changed()
}

// Close cancels every call in flight and waits until they have ended.
func (q *Queue) Close() {
	q.Launch()
	q.mu.Lock()
	q.closed = true
	for _, t := range q.calls {
		t.cancel()
	}
	q.mu.Unlock()
	q.running.Wait()
	q.handoff.close()
}

// Ticket is a call in a [Queue]. Through it the job keeps to its place. The
// methods of a nil Ticket, of a call outside any queue, do nothing and do not
// wait.
type Ticket struct {
	queue  *Queue
	id     int64
	job    Job
	ctx    context.Context
	cancel context.CancelFunc

	answer    Answer
	arrived   bool
	announced bool
	asking    bool
	dropped   bool

	handoff *Handoff // of the goroutine that waits for the call and runs it

	// In an ordered queue a call is decided after the one started before it, and
	// its answer is processed while the guest waits for this call. Counters and
	// numbered tokens come out the same each time.
	previous     <-chan struct{} // closed when the call before is decided
	decided, due chan struct{}   // nil if unordered
	onceDecided  sync.Once
	onceDue      sync.Once
}

// WaitPrevious waits until the call before was decided.
func (t *Ticket) WaitPrevious(ctx context.Context) {
	if t == nil || t.previous == nil {
		return
	}
	select {
	case <-t.previous:
	case <-ctx.Done():
	}
}

// Decided lets the next call be decided, as soon as the calls before are. It does
// not wait for them, so a call that needs no decision may call it at any time.
func (t *Ticket) Decided() {
	if t == nil || t.decided == nil {
		return
	}
	t.onceDecided.Do(func() {
		if t.previous != nil {
			select {
			case <-t.previous:
			default:
				go func() {
					<-t.previous
					close(t.decided)
				}()
				return
			}
		}
		close(t.decided)
	})
}

func (t *Ticket) setDue() {
	if t.due != nil {
		t.onceDue.Do(func() { close(t.due) })
	}
}

// WaitDue waits until the guest waits for the answer. It returns false if the
// context ends before.
func (t *Ticket) WaitDue(ctx context.Context) bool {
	if t == nil || t.due == nil {
		return true
	}
	select {
	case <-t.due:
		return true
	default:
	}
	select {
	case <-t.due:
		return true
	case <-ctx.Done():
		return false
	}
}

// SetAsking notes whether the call waits for a person.
func (t *Ticket) SetAsking(on bool) {
	if t == nil {
		return
	}
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.asking == on || t.dropped {
		return
	}
	t.asking = on
	if on {
		q.asking++
	} else {
		q.asking--
	}
	q.changed()
}

// Handoff returns what [Workers.Do] runs a task of the call on, or nil for a
// worker.
func (t *Ticket) Handoff() *Handoff {
	if t == nil {
		return nil
	}
	return t.handoff
}
