package store

import (
	"context"
	"time"
)

// A lease lasts LeaseTime. Its holder renews it each RenewTime.
const (
	LeaseTime = 15 * time.Second
	RenewTime = 5 * time.Second
)

// Values of the column leased of the queue.
const (
	leasedWaits  = 0
	leasedHeld   = 1
	leasedParked = 2 // until expires, or until something wakes it
)

// Kind is what waits in the queue.
type Kind string

// The kinds of work.
const (
	KindRun    Kind = "run"
	KindTask   Kind = "task"
	KindNotice Kind = "notice" // see [Notice]
)

// Work is an item of the queue.
type Work struct {
	Tenant, ID string
	Kind       Kind
	Token      string    // id of the token that asked for it; may be empty
	Priority   int64     // higher is first
	Due        time.Time // not before; zero is now
}

// Lease is the right to do a piece of work. Fence rises with every lease of the
// same work, so that a write of an earlier holder is refused.
type Lease struct {
	Tenant, ID string
	Owner      string
	Fence      int64
	Expires    time.Time
	Cancelled  bool // the work was cancelled: its holder ends it
	// Late keeps the lease valid after it has expired, until another process takes it
	// over: the machine of a person may sleep.
	Late bool
}

// least is the least expiry with which the lease is still held.
func (l Lease) least(now int64) int64 {
	if l.Late {
		return 0
	}
	return now
}

// enqueue adds work. With an owner it is leased at once.
func (tx *Tx) enqueue(w Work, owner string) (Lease, error) {
	now := tx.s.micros()
	l := Lease{Tenant: w.Tenant, ID: w.ID, Owner: owner}
	var leased, expires int64
	if owner != "" {
		leased, l.Fence, expires = 1, 1, now+LeaseTime.Microseconds()
		l.Expires = timeOf(expires)
	}
	_, err := tx.exec(`INSERT INTO queue (tenant, id, kind, leased, priority, created, due, owner, fence, expires, cancelled, token)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)`,
		w.Tenant, w.ID, string(w.Kind), leased, w.Priority, now, max(now, microsOf(w.Due)), owner, l.Fence, expires, w.Token)
	return l, err
}

// Enqueue adds work for any process.
func (s *Store) Enqueue(ctx context.Context, w Work) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.enqueue(w, "")
		return err
	})
}

// Claim leases a piece of work, if any is due: of the tenant with the fewest leases,
// then the most urgent, then the oldest. Work whose lease expired is due as well.
func (s *Store) Claim(ctx context.Context, kind Kind, owner string) (l Lease, ok bool, err error) {
	if owner == "" {
		return l, false, fail("a lease needs an owner")
	}
	if due, err := s.isDue(ctx, kind); err != nil || !due {
		return l, false, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		l, ok = Lease{}, false
		now := tx.s.micros()
		if err := tx.expire(now); err != nil {
			return err
		}
		tenants, err := tx.waiting(kind, now)
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			l = Lease{Tenant: tenant, Owner: owner, Expires: timeOf(now + LeaseTime.Microseconds())}
			var cancelled int64
			if ok, err = tx.row([]any{&l.ID, &l.Fence, &cancelled}, `UPDATE queue SET leased = 1, owner = $4, fence = fence + 1, expires = $5
				WHERE tenant = $2 AND id = (SELECT id FROM queue WHERE kind = $1 AND leased = 0 AND tenant = $2 AND due <= $3
					ORDER BY priority DESC, created, id LIMIT 1`+s.skipLocked()+`) RETURNING id, fence, cancelled`,
				string(kind), tenant, now, owner, microsOf(l.Expires)); ok || err != nil {
				l.Cancelled = cancelled != 0
				return err
			}
		}
		return nil
	})
	return l, ok, err
}

// isDue reports whether there may be work to claim. It locks nothing, since processes
// ask often when the queue is empty.
func (s *Store) isDue(ctx context.Context, kind Kind) (due bool, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		var n int64
		now := tx.s.micros()
		_, err := tx.row([]any{&n}, `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM queue WHERE kind = $1 AND leased = 0 AND due <= $2 LIMIT 1) w)
			+ (SELECT COUNT(*) FROM (SELECT 1 FROM queue WHERE leased IN (1, 2) AND expires < $2 LIMIT 1) e)`, string(kind), now)
		due = n > 0
		return err
	})
	return due, err
}

// ClaimLost leases a piece of work that no process does: it waits, its lease expired, or
// it is a parked run. It returns false if there is no such work, or if a process holds
// its lease.
func (s *Store) ClaimLost(ctx context.Context, tenant, id, owner string) (l Lease, ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		now := tx.s.micros()
		l = Lease{Tenant: tenant, ID: id, Owner: owner, Expires: timeOf(now + LeaseTime.Microseconds())}
		var cancelled int64
		ok, err = tx.row([]any{&l.Fence, &cancelled}, `UPDATE queue SET leased = 1, owner = $3, fence = fence + 1, expires = $4
			WHERE tenant = $1 AND id = $2 AND (leased = 1 AND expires < $5 OR leased IN (0, 2)) RETURNING fence, cancelled`, tenant, id, owner, microsOf(l.Expires), now)
		l.Cancelled = cancelled != 0
		return err
	})
	return l, ok, err
}

// LostRuns returns the runs of commands, which have no token, that had begun and whose
// leases expired before a time.
func (s *Store) LostRuns(ctx context.Context, tenant string, before time.Time) (runs []string, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		keys, err := tx.keys(`SELECT r.tenant, r.id FROM queue q JOIN runs r ON r.tenant = q.tenant AND r.id = q.id
			WHERE q.leased = 1 AND q.expires < $2 AND q.tenant = $1 AND q.kind = 'run' AND r.token = '' AND r.state IN ('running', 'waiting')`, tenant, before.UnixMicro())
		runs = nil
		for _, k := range keys {
			runs = append(runs, k.id)
		}
		return err
	})
	return runs, err
}

// expire makes work wait again whose lease expired, and parked runs whose time has come.
func (tx *Tx) expire(now int64) error {
	expired, err := tx.keys(`SELECT tenant, id FROM queue WHERE leased IN (1, 2) AND expires < $1 LIMIT 100`+tx.s.skipLocked(), now)
	if err != nil {
		return err
	}
	for _, k := range expired {
		woken, err := tx.wake(k.tenant, k.id)
		if err == nil && !woken {
			_, err = tx.exec(`UPDATE queue SET leased = 0 WHERE tenant = $1 AND id = $2`, k.tenant, k.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stateEvent is the event of a new state of a run.
func stateEvent(state string) Event {
	return Event{Type: "state", Data: []byte(`{"state":"` + state + `"}`)}
}

// wake queues a run if it is parked, and reports whether it was.
func (tx *Tx) wake(tenant, run string) (bool, error) {
	n, err := tx.exec(`UPDATE queue SET leased = $3, signals = '' WHERE tenant = $1 AND id = $2 AND leased = $4`, tenant, run, leasedWaits, leasedParked)
	if n == 0 || err != nil {
		return false, err
	}
	if _, err := tx.exec(`UPDATE runs SET state = 'queued' WHERE tenant = $1 AND id = $2`, tenant, run); err != nil {
		return false, err
	}
	return true, tx.append(Lease{Tenant: tenant, ID: run}, []Event{stateEvent("queued")})
}

// maxLanes is how many tenants a claim tries.
const maxLanes = 32

// waiting returns the tenants with due work in the order of a claim. The query
// goes from one tenant to the next in the index, however much each has waiting.
// PostgreSQL may read all rows for MIN, so it uses ORDER BY and LIMIT.
func (tx *Tx) waiting(kind Kind, now int64) (tenants []string, err error) {
	for scan, err := range tx.rows(`WITH RECURSIVE lanes (tenant) AS (
			SELECT (SELECT q.tenant FROM queue q WHERE q.kind = $1 AND q.leased = 0 ORDER BY q.tenant LIMIT 1)
			UNION ALL
			SELECT (SELECT q.tenant FROM queue q WHERE q.kind = $1 AND q.leased = 0 AND q.tenant > lanes.tenant ORDER BY q.tenant LIMIT 1)
				FROM lanes WHERE lanes.tenant IS NOT NULL)
		SELECT heads.tenant FROM (
			SELECT lanes.tenant,
				(SELECT COUNT(*) FROM queue q WHERE q.kind = $1 AND q.leased = 1 AND q.tenant = lanes.tenant) AS running,
				(SELECT q.id FROM queue q WHERE q.kind = $1 AND q.leased = 0 AND q.tenant = lanes.tenant AND q.due <= $2
					ORDER BY q.priority DESC, q.created, q.id LIMIT 1) AS head
			FROM lanes WHERE lanes.tenant IS NOT NULL) heads
		JOIN queue first ON first.tenant = heads.tenant AND first.id = heads.head
		ORDER BY heads.running, first.priority DESC, first.created, first.id LIMIT $3`, string(kind), now, maxLanes) {
		if err != nil {
			return nil, err
		}
		var tenant string
		if err := scan(&tenant); err != nil {
			return nil, err
		}
		tenants = append(tenants, tenant)
	}
	return tenants, nil
}

// hold fails with [ErrLost] if the lease is not held any more. No other process can
// take it over before this transaction ends.
func (tx *Tx) hold(l Lease) error {
	var expires int64
	ok, err := tx.row([]any{&expires}, `SELECT expires FROM queue WHERE tenant = $1 AND id = $2 AND leased = 1 AND fence = $3 AND owner = $4`+tx.s.lock(),
		l.Tenant, l.ID, l.Fence, l.Owner)
	if err == nil && (!ok || expires < l.least(tx.s.micros())) {
		return ErrLost
	}
	return err
}

// Cancel asks for the end of work: the holder of its lease, or the next one, learns of it. It reports whether there is such work.
func (s *Store) Cancel(ctx context.Context, tenant, id string) (ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`UPDATE queue SET cancelled = 1 WHERE tenant = $1 AND id = $2`, tenant, id)
		ok = n > 0
		return err
	})
	return ok, err
}

// Renew extends a lease, and returns it with what is new of the work.
func (s *Store) Renew(ctx context.Context, l Lease) (Lease, error) {
	err := s.update(ctx, func(tx *Tx) error {
		now := tx.s.micros()
		l.Expires = timeOf(now + LeaseTime.Microseconds())
		var cancelled int64
		ok, err := tx.row([]any{&cancelled}, `UPDATE queue SET expires = $5 WHERE tenant = $1 AND id = $2 AND leased = 1 AND fence = $3 AND owner = $4 AND expires >= $6
			RETURNING cancelled`, l.Tenant, l.ID, l.Fence, l.Owner, microsOf(l.Expires), l.least(now))
		if err == nil && !ok {
			return ErrLost
		}
		l.Cancelled = cancelled != 0
		return err
	})
	return l, err
}

// Release gives work back to the queue, to be due at a time.
func (s *Store) Release(ctx context.Context, l Lease, due time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE queue SET leased = 0, owner = '', due = $3 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, max(tx.s.micros(), microsOf(due)))
		return err
	})
}

// Finish removes work from the queue.
func (s *Store) Finish(ctx context.Context, l Lease) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.finish(l)
		return err
	})
}

// finish removes work from the queue, if the lease is held, and reports whether it was
// cancelled.
func (tx *Tx) finish(l Lease) (cancelled bool, err error) {
	var n int64
	ok, err := tx.row([]any{&n}, `DELETE FROM queue WHERE tenant = $1 AND id = $2 AND leased = 1 AND fence = $3 AND owner = $4 AND expires >= $5 RETURNING cancelled`,
		l.Tenant, l.ID, l.Fence, l.Owner, l.least(tx.s.micros()))
	if err == nil && !ok {
		return false, ErrLost
	}
	return n != 0, err
}

// Queued is how much work of a kind waits and runs, and since when the oldest waits.
type Queued struct {
	Waiting, Leased int64
	Oldest          time.Time
}

// Queue returns how long the queue of a tenant is; "" means all tenants.
func (s *Store) Queue(ctx context.Context, kind Kind, tenant string) (q Queued, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		var oldest int64
		_, err := tx.row([]any{&q.Waiting, &q.Leased, &oldest}, `SELECT COALESCE(SUM(CASE WHEN leased = 0 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN leased = 1 THEN 1 ELSE 0 END), 0),
			COALESCE(MIN(CASE WHEN leased = 0 THEN created END), 0) FROM queue WHERE kind = $1 AND ($2 = '' OR tenant = $2)`, string(kind), tenant)
		q.Oldest = timeOf(oldest)
		return err
	})
	return q, err
}
