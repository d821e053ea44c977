package store

import (
	"context"
	"time"
)

// Event is what happened in a run. Its number rises by one from 1.
type Event struct {
	Number int64
	At     time.Time
	Type   string // output, call, approval, state, end
	Data   []byte // JSON
}

// Append saves events of a run. The holder of its lease numbers them.
func (s *Store) Append(ctx context.Context, l Lease, events ...Event) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		return tx.append(l, events)
	})
}

// append saves events of a run whose lease is held.
func (tx *Tx) append(l Lease, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var last int64
	ok, err := tx.row([]any{&last}, `UPDATE runs SET events = events + $3 WHERE tenant = $1 AND id = $2 RETURNING events`, l.Tenant, l.ID, len(events))
	if err != nil || !ok {
		return err
	}
	now := tx.s.micros()
	for i, e := range events {
		if _, err := tx.exec(`INSERT INTO events (tenant, run, number, at, type, data) VALUES ($1, $2, $3, $4, $5, $6)`,
			l.Tenant, l.ID, last-int64(len(events)-1-i), now, e.Type, notNil(e.Data)); err != nil {
			return err
		}
	}
	return nil
}

// maxEvents bounds the events that one call returns.
const maxEvents = 10_000

// Events returns at most limit events of a run after a number.
func (s *Store) Events(ctx context.Context, tenant, run string, after int64, limit int) (events []Event, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		events = nil
		for scan, err := range tx.rows(`SELECT number, at, type, data FROM events WHERE tenant = $1 AND run = $2 AND number > $3 ORDER BY number LIMIT $4`,
			tenant, run, after, min(max(limit, 1), maxEvents)) {
			if err != nil {
				return err
			}
			var e Event
			var at int64
			if err := scan(&e.Number, &at, &e.Type, &e.Data); err != nil {
				return err
			}
			e.At = timeOf(at)
			events = append(events, e)
		}
		return nil
	})
	return events, err
}
