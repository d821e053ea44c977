package store

import (
	"context"
	"time"
)

// Event is what happened in a run. Its number rises by one from 1.
type Event struct {
	Number int64
	At     time.Time // when it happened; zero: when it is saved
	Type   string    // output, call, approval, state, end
	Data   []byte    // JSON
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
		at := now
		if !e.At.IsZero() {
			at = min(now, microsOf(e.At))
		}
		if _, err := tx.exec(`INSERT INTO events (tenant, run, number, at, type, data) VALUES ($1, $2, $3, $4, $5, $6)`,
			l.Tenant, l.ID, last-int64(len(events)-1-i), at, e.Type, notNil(e.Data)); err != nil {
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

// AuditChain is the audit log of a folder, closed segments of which are in the store.
type AuditChain struct {
	Tenant, ID string
	Sealed     int64  // how many segments were added
	MAC        string // of that number
}

// AuditSegment is a closed segment of an audit log. Its sealed content is in parts of
// [AuditPartSize] bytes, the last of which may be shorter.
type AuditSegment struct {
	Seq     int64  // from 1, in the chain
	Name    string // of its file
	Content string // id of its parts
	Bytes   int64  // of the sealed content
	Wrapped []byte // its key
	Created time.Time
}

// AuditPartSize is the size of a part of a sealed segment.
const AuditPartSize = 1 << 20

// auditOrphans is how long parts are kept that belong to no segment: those of one that
// is being added.
const auditOrphans = time.Hour

// AuditChains returns the chains of a tenant; "" means all tenants.
func (s *Store) AuditChains(ctx context.Context, tenant string) (all []AuditChain, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		all = nil
		for scan, err := range tx.rows(`SELECT tenant, id, sealed, mac FROM audit_chains WHERE $1 = '' OR tenant = $1 ORDER BY tenant, id`, tenant) {
			if err != nil {
				return err
			}
			var c AuditChain
			if err := scan(&c.Tenant, &c.ID, &c.Sealed, &c.MAC); err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// AuditSegments returns the segments of a chain in the order in which they were added.
func (s *Store) AuditSegments(ctx context.Context, tenant, chain string) (all []AuditSegment, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		all = nil
		for scan, err := range tx.rows(`SELECT seq, name, content, bytes, wrapped, created FROM audit_segments WHERE tenant = $1 AND chain = $2 ORDER BY seq`, tenant, chain) {
			if err != nil {
				return err
			}
			var g AuditSegment
			var created int64
			if err := scan(&g.Seq, &g.Name, &g.Content, &g.Bytes, &g.Wrapped, &created); err != nil {
				return err
			}
			g.Created = timeOf(created)
			all = append(all, g)
		}
		return nil
	})
	return all, err
}

// AddAuditPart adds a part of a segment that is being added.
func (s *Store) AddAuditPart(ctx context.Context, content string, part int64, data []byte) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO audit_parts (content, part, created, data) VALUES ($1, $2, $3, $4)`, content, part, tx.s.micros(), data)
		return err
	})
}

// AuditPart returns a part of a segment; it is nil if there is no such part.
func (s *Store) AuditPart(ctx context.Context, content string, part int64) (data []byte, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		_, err := tx.row([]any{&data}, `SELECT data FROM audit_parts WHERE content = $1 AND part = $2`, content, part)
		return err
	})
	return data, err
}

// AddAuditSegment adds a segment with the next number to its chain. It returns false if
// another process has added one with this number.
func (s *Store) AddAuditSegment(ctx context.Context, c AuditChain, g AuditSegment) (ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		now := tx.s.micros()
		if _, err := tx.exec(`DELETE FROM audit_parts WHERE created < $1 AND NOT EXISTS (SELECT 1 FROM audit_segments g WHERE g.content = audit_parts.content)
			AND content <> $2`, now-auditOrphans.Microseconds(), g.Content); err != nil {
			return err
		}
		if _, err := tx.exec(`INSERT INTO audit_chains (tenant, id, sealed, mac) VALUES ($1, $2, 0, '') ON CONFLICT DO NOTHING`, c.Tenant, c.ID); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE audit_chains SET sealed = $3, mac = $4 WHERE tenant = $1 AND id = $2 AND sealed = $5`, c.Tenant, c.ID, g.Seq, c.MAC, g.Seq-1)
		if ok = n == 1; !ok || err != nil {
			return err
		}
		_, err = tx.exec(`INSERT INTO audit_segments (tenant, chain, seq, name, content, bytes, created, wrapped) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.Tenant, c.ID, g.Seq, g.Name, g.Content, g.Bytes, now, g.Wrapped)
		return err
	})
	return ok, err
}
