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
	own := q.runsHere(id, timeout)
	idle := (q.inFlight == 0 && len(q.arrived) == 0) || (id != 0 && q.calls[id] == nil)
	// In a replay the record says whether an answer came before the timeout.
	inVain := !idle && timeout >= 0 && len(q.opts.Order) > 0 && q.opts.Order[0] == 0
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
		q.mu.Unlock()
		if ok {
			return got, nil
		}
		select {
		case <-q.wake:
		case <-over:
			return 0, nil
		case <-ctx.Done():
			return 0, q.opts.Err()
		}
	}
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
