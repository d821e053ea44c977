package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wexec/wexec/fault"
)

// maxSignals bounds the signals that a run keeps.
const maxSignals = 256

// Waits is what a parked run waits for. Each of them wakes it.
type Waits struct {
	Until     time.Time      // zero: no timer
	Questions []string       // ids of approvals
	Signals   map[string]int // by name, the number of the next one
}

// AppendRecord adds a record to the journal of a run. Numbers rise by one from 0.
func (s *Store) AppendRecord(ctx context.Context, l Lease, number int64, record Sealed) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO journal (tenant, run, number, wrapped, sealed) VALUES ($1, $2, $3, $4, $5)`, l.Tenant, l.ID, number, record.Wrapped, record.Data)
		return err
	})
}

// Records returns the journal of a run.
func (s *Store) Records(ctx context.Context, tenant, run string) (all []Sealed, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		all, err = tx.sealed(`SELECT wrapped, sealed FROM journal WHERE tenant = $1 AND run = $2 ORDER BY number`, tenant, run)
		return err
	})
	return all, err
}

// Park records what a run waits for, with its last events and its result so far, and
// ends the lease. A run that waits for something that is there already is queued.
func (s *Store) Park(ctx context.Context, l Lease, w Waits, o Outcome, events ...Event) error {
	names := []string{}
	for name := range w.Signals {
		names = append(names, name)
	}
	slices.Sort(names)
	awaited, err := json.Marshal(names)
	if err != nil {
		return fault.New(fault.Internal, "encode the names of signals: %w", err)
	}
	until := int64(math.MaxInt64)
	if !w.Until.IsZero() {
		until = w.Until.UnixMicro()
	}
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		// Locks the run, so that signals are before or after this.
		if _, err := tx.exec(`UPDATE runs SET state = 'parked', result = $3, summary = $4 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, notNil(o.Result), notNil(o.Summary)); err != nil {
			return err
		}
		if err := tx.append(l, append(slices.Clone(events), stateEvent(string(StateParked)))); err != nil {
			return err
		}
		if err := tx.withdrawOthers(l, w.Questions); err != nil {
			return err
		}
		if err := tx.keepVault(l, o); err != nil {
			return err
		}
		var cancelled int64
		if _, err := tx.row([]any{&cancelled}, `UPDATE queue SET leased = $3, owner = '', expires = $4, signals = $5 WHERE tenant = $1 AND id = $2 RETURNING cancelled`,
			l.Tenant, l.ID, leasedParked, until, string(awaited)); err != nil {
			return err
		}
		ready, err := tx.ready(l, w)
		if err == nil && (ready || cancelled != 0) {
			_, err = tx.wake(l.Tenant, l.ID)
		}
		return err
	})
}

// withdrawOthers ends the questions of a run that it no longer asks, such as those of a
// rule that has changed.
func (tx *Tx) withdrawOthers(l Lease, questions []string) error {
	condition, args := `tenant = $1 AND run = $2`, []any{l.Tenant, l.ID}
	for _, id := range questions {
		args = append(args, id)
		condition += fmt.Sprintf(` AND id <> $%d`, len(args))
	}
	return tx.expireQuestions(condition, args...)
}

// ready reports whether something is there that a run waits for.
func (tx *Tx) ready(l Lease, w Waits) (bool, error) {
	for _, id := range w.Questions {
		found, err := tx.row([]any{new(int64)}, `SELECT 1 FROM approvals WHERE tenant = $1 AND id = $2 AND state <> 'waiting'`+tx.s.lock(), l.Tenant, id)
		if found || err != nil {
			return found, err
		}
	}
	for name, number := range w.Signals {
		found, err := tx.row([]any{new(int64)}, `SELECT 1 FROM signals WHERE tenant = $1 AND run = $2 AND name = $3 AND number = $4`, l.Tenant, l.ID, name, number)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// Wake queues a run if it is parked, and reports whether it was.
func (s *Store) Wake(ctx context.Context, tenant, run string) (woken bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		woken, err = tx.wake(tenant, run)
		return err
	})
	return woken, err
}

// Requeue ends the lease of a run that goes on in another process, or later in this
// one, with its records. Its last events are kept.
func (s *Store) Requeue(ctx context.Context, l Lease, events ...Event) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		if err := tx.append(l, append(slices.Clone(events), stateEvent(string(StateQueued)))); err != nil {
			return err
		}
		if _, err := tx.exec(`UPDATE runs SET state = 'queued' WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE queue SET leased = $3, owner = '' WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, leasedWaits)
		return err
	})
}

// AddSignal keeps a signal for a run that has not ended, and wakes the run if it waits
// for the name. It returns the number of the signal among those with the name.
func (s *Store) AddSignal(ctx context.Context, tenant, run, name string, payload Sealed) (number int64, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		var state State
		ok, err := tx.row([]any{&state}, `SELECT state FROM runs WHERE tenant = $1 AND id = $2`+tx.s.lock(), tenant, run)
		switch {
		case err != nil:
			return err
		case !ok:
			return fault.New(fault.UsageRun, "there is no run %.40q", run)
		case state == StateDone:
			return conflict("the run %s has ended", run).WithHint("send signals to runs that have not ended")
		}
		var all int64
		if _, err := tx.row([]any{&all, &number}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN name = $3 THEN 1 ELSE 0 END), 0) FROM signals WHERE tenant = $1 AND run = $2`, tenant, run, name); err != nil {
			return err
		}
		if all >= maxSignals {
			return fault.New(fault.LimitQuota, "the run %s has %d signals, which is the most that a run keeps", run, all)
		}
		if _, err := tx.exec(`INSERT INTO signals (tenant, run, name, number, arrived, wrapped, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			tenant, run, name, number, tx.s.micros(), payload.Wrapped, payload.Data); err != nil {
			return err
		}
		var awaited string
		if _, err := tx.row([]any{&awaited}, `SELECT signals FROM queue WHERE tenant = $1 AND id = $2`, tenant, run); err != nil || awaited == "" {
			return err
		}
		var names []string
		if err := json.Unmarshal([]byte(awaited), &names); err != nil {
			return fault.New(fault.StoreUnavailable, "read the signals that run %s waits for: %w", run, err)
		}
		if slices.Contains(names, name) {
			_, err = tx.wake(tenant, run)
		}
		return err
	})
	return number, err
}

// Signal returns the signal of a run with a name and a number, if it is there.
func (s *Store) Signal(ctx context.Context, tenant, run, name string, number int) (payload Sealed, ok bool, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		ok, err = tx.row([]any{&payload.Wrapped, &payload.Data}, `SELECT wrapped, sealed FROM signals WHERE tenant = $1 AND run = $2 AND name = $3 AND number = $4`, tenant, run, name, number)
		return err
	})
	return payload, ok, err
}
