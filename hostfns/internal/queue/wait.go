package queue

import (
	"time"
)

// Wait waits until call id (0: any call) has an answer that was not announced
// before, and returns the id. It returns 0 when the timeout has passed, which is
// negative for none, and -1 when there is nothing to wait for. With nothing in
// flight and a timeout it sleeps.
func (q *Queue) Wait(id int64, timeout time.Duration) (int64, error) {
	if err := q.opts.Err(); err != nil {
		return 0, err
	}
	q.mu.Lock()
	if q.opts.Durable != nil {
		q.Launch()
	}
	own := q.runsHere(id, timeout)
	idle := (q.inFlight == 0 && len(q.arrived) == 0) || (id != 0 && q.calls[id] == nil)
	// In a replay the record says whether an answer came before the timeout.
	inVain := !idle && timeout >= 0 && len(q.opts.Order) > 0 && q.opts.Order[0] == 0
	if q.differs(id, inVain) {
		q.mu.Unlock()
		q.opts.Durable.Differs()
		return 0, q.opts.Err()
	}
	if inVain {
		q.opts.Order = q.opts.Order[1:]
	} else if got, ok := q.take(id); ok {
		q.mu.Unlock()
		return got, nil
	}
	if idle && (timeout < 0 || id != 0) {
		q.mu.Unlock()
		return -1, nil
	}
	certain := !idle && (q.opts.Ordered || q.expected() != 0)
	if inVain || (timeout == 0 && !certain) {
		q.mu.Unlock()
		if !idle {
			q.opts.Announced(0)
		}
		return 0, nil
	}
	timed := timeout >= 0 && !certain
	if d := q.opts.Durable; d != nil && timed && !idle {
		timeout = d.Left(timeout)
	}
	q.waiting = waiting{parked: true, id: id, timed: timed}
	if q.opts.Park != nil {
		q.opts.Park()
	}
	q.reportPeople()
	q.mu.Unlock()

	if own != nil {
		own.setDue()
		own.handoff = &q.handoff
		q.run(own)
	}
	got, err := q.wait(id, timeout, timed, idle)

	q.mu.Lock()
	q.waiting.parked = false
	q.reportPeople()
	q.mu.Unlock()
	if q.opts.Resume != nil {
		q.opts.Resume()
	}
	if err == nil {
		err = q.opts.Err()
	}
	if err == nil && got == 0 && !idle {
		q.opts.Announced(0)
	}
	return got, err
}

// Idle reports whether nothing is in flight and no answer waits for the guest.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inFlight == 0 && len(q.arrived) == 0
}

// Awaited returns the calls without an answer that the guest waits for now, any of
// which may continue it. Every goroutine may call it.
func (q *Queue) Awaited() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []int64
	for id, t := range q.calls {
		if q.waiting.parked && !t.arrived && (q.waiting.id == 0 || q.waiting.id == id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// runsHere returns the held call if the waiting goroutine is to run it, because
// the guest waits for this call only. Otherwise it launches the call. The lock
// is held.
func (q *Queue) runsHere(id int64, timeout time.Duration) *Ticket {
	t := q.held
	if t == nil {
		return nil
	}
	if timeout >= 0 || q.inFlight > 1 || len(q.arrived) > 0 || (id != 0 && id != t.id) {
		q.Launch()
		return nil
	}
	q.held = nil
	return t
}

func (q *Queue) wait(id int64, timeout time.Duration, timed, idle bool) (int64, error) {
	ctx := q.opts.Context
	if idle && q.opts.Sleep != nil {
		return 0, q.opts.Sleep(ctx, timeout)
	}
	parking := newParking(q.opts.Durable, timeout, timed)
	defer parking.stop()
	var over <-chan time.Time
	if timed {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	for {
		q.mu.Lock()
		got, ok := q.take(id)
		if !ok {
			q.request(id)
		}
		parking.watch(q.waiting.people)
		q.mu.Unlock()
		if ok {
			return got, nil
		}
		select {
		case <-q.wake:
		case <-parking.due:
			q.mu.Lock()
			only := q.waiting.people
			q.mu.Unlock()
			if only {
				q.opts.Durable.Park(parking.until)
			}
		case <-over:
			return 0, nil
		case <-ctx.Done():
			return 0, q.opts.Err()
		}
	}
}

// differs reports whether the guest waits for something else than the order of answers
// says. The lock is held.
func (q *Queue) differs(id int64, inVain bool) bool {
	if q.opts.Durable == nil || len(q.opts.Order) == 0 || inVain {
		return false
	}
	next := int64(q.opts.Order[0])
	t := q.calls[next]
	switch {
	case id != 0 && q.calls[id] != nil && q.calls[id].announced:
		return false
	case id != 0 && q.calls[id] == nil:
		return false // there is nothing to wait for
	case id == 0 && q.inFlight == 0 && len(q.arrived) == 0:
		return false // a sleep
	}
	return next == 0 || t == nil || id != 0 && id != next
}

// parking parks a run whose guest waits for people or a timer only.
type parking struct {
	with  *Durable
	until time.Time // end of the wait; zero: it has no end
	timer *time.Timer
	due   <-chan time.Time
	only  bool
}

func newParking(d *Durable, timeout time.Duration, timed bool) parking {
	p := parking{with: d}
	switch {
	case d == nil || d.After <= 0 || timed && timeout <= d.After:
		p.with = nil
	case timed:
		p.until = time.Now().Add(timeout)
	}
	return p
}

// watch starts the time when only people and timers are waited for.
func (p *parking) watch(only bool) {
	if p.with == nil || only == p.only {
		return
	}
	p.stop()
	if p.only = only; only {
		p.timer = time.NewTimer(p.with.After)
		p.due = p.timer.C
	}
}

func (p *parking) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer, p.due = nil, nil
}

// request lets the call that the guest waits for deliver its answer. The lock is
// held.
func (q *Queue) request(id int64) {
	if id == 0 {
		id = q.expected()
	}
	if t := q.calls[id]; t != nil {
		t.setDue()
	}
}

// take announces an answer: of call id, or for 0 of the next call. The lock is
// held.
func (q *Queue) take(id int64) (int64, bool) {
	if id == 0 && len(q.arrived) > 0 {
		if id = q.expected(); id == 0 {
			id = q.arrived[0]
		}
	}
	t := q.calls[id]
	if t == nil || !t.arrived {
		return 0, false
	}
	q.unqueue(id)
	if !t.announced {
		t.announced = true
		q.opts.Announced(uint64(id))
		if len(q.opts.Order) > 0 && q.opts.Order[0] == uint64(id) {
			q.opts.Order = q.opts.Order[1:]
		}
	}
	return id, true
}

// expected returns the call that has to be announced next, or 0 if any may be.
// The lock is held.
func (q *Queue) expected() int64 {
	if len(q.opts.Order) > 0 && q.opts.Order[0] != 0 {
		if t := q.calls[int64(q.opts.Order[0])]; t != nil && !t.announced {
			return t.id
		}
	}
	first := int64(0)
	if q.opts.Ordered {
		for id, t := range q.calls {
			if !t.announced && (first == 0 || id < first) {
				first = id
			}
		}
	}
	return first
}
