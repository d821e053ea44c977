package store

import (
	"context"
	"time"

	"github.com/wexec/wexec/fault"
)

// Vault returns the sealed vault of a run. It is empty if the run has no vault.
func (s *Store) Vault(ctx context.Context, tenant, run string) (v Sealed, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		_, err := tx.row([]any{&v.Wrapped, &v.Data}, `SELECT wrapped, sealed FROM vaults WHERE tenant = $1 AND run = $2`, tenant, run)
		return err
	})
	return v, err
}

// Part is one of the texts of a run: its request, its result, an event, a question,
// or something that is sealed.
type Part struct {
	Run    string
	Text   []byte
	Sealed *Sealed  // instead of Text
	Kind   PartKind // of what is sealed
	Number int64    // of what is sealed
	Name   string   // of a signal
}

// PartKind is what a sealed part is.
type PartKind string

// The kinds of sealed parts.
const (
	PartDetail PartKind = "detail" // of the audit
	PartRecord PartKind = "record" // of the journal
	PartSignal PartKind = "signal"
)

// Slice selects runs of a tenant by the order of their ids.
type Slice struct {
	After string    // runs with a higher id
	Until time.Time // accepted at this time or earlier
	Since time.Time // that ended after this time; the zero time: all
	Limit int
}

// Search calls visit with every text that clients, programs and tools wrote into a
// slice of the runs, until it returns false for a run. It returns the last run of
// the slice, or "" after the last one of all.
func (s *Store) Search(ctx context.Context, tenant string, in Slice, visit func(Part) bool) (last string, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		last = ""
		var runs []string
		for scan, err := range tx.rows(`SELECT id FROM runs WHERE tenant = $1 AND id > $2 AND created <= $3 AND ($4 = 0 OR ended > $4) ORDER BY id LIMIT $5`,
			tenant, in.After, microsOf(in.Until), microsOf(in.Since), in.Limit) {
			if err != nil {
				return err
			}
			var id string
			if err := scan(&id); err != nil {
				return err
			}
			runs = append(runs, id)
		}
		for _, run := range runs {
			if err := tx.parts(tenant, run, visit); err != nil {
				return err
			}
		}
		if len(runs) == in.Limit {
			last = runs[len(runs)-1]
		}
		return nil
	})
	return last, err
}

// parts visits the texts of a run until visit returns false.
func (tx *Tx) parts(tenant, run string, visit func(Part) bool) error {
	for _, query := range []string{
		`SELECT request FROM runs WHERE tenant = $1 AND id = $2`,
		`SELECT result FROM runs WHERE tenant = $1 AND id = $2`,
		`SELECT intent || ' ' || session || ' ' || words FROM runs WHERE tenant = $1 AND id = $2`,
		`SELECT data FROM events WHERE tenant = $1 AND run = $2 ORDER BY number`,
		`SELECT question FROM approvals WHERE tenant = $1 AND run = $2`,
		`SELECT reason FROM approvals WHERE tenant = $1 AND run = $2`,
		`SELECT name FROM tasks WHERE tenant = $1 AND run = $2`,
		`SELECT name FROM idempotency WHERE tenant = $1 AND run = $2`,
		`SELECT name FROM uses WHERE tenant = $1 AND run = $2`,
	} {
		for scan, err := range tx.rows(query, tenant, run) {
			if err != nil {
				return err
			}
			part := Part{Run: run}
			if err := scan(&part.Text); err != nil {
				return err
			}
			if !visit(part) {
				return nil
			}
		}
	}
	for _, sealed := range []struct {
		kind  PartKind
		query string
	}{
		{PartDetail, `SELECT wrapped, sealed, number, '' FROM details WHERE tenant = $1 AND run = $2 ORDER BY number`},
		{PartRecord, `SELECT wrapped, sealed, number, '' FROM journal WHERE tenant = $1 AND run = $2 ORDER BY number`},
		{PartSignal, `SELECT wrapped, sealed, number, name FROM signals WHERE tenant = $1 AND run = $2 ORDER BY name, number`},
	} {
		for scan, err := range tx.rows(sealed.query, tenant, run) {
			if err != nil {
				return err
			}
			part := Part{Run: run, Kind: sealed.kind, Sealed: &Sealed{}}
			if err := scan(&part.Sealed.Wrapped, &part.Sealed.Data, &part.Number, &part.Name); err != nil {
				return err
			}
			if !visit(part) {
				return nil
			}
		}
	}
	return nil
}

// AddDetail keeps a part of what the audit keeps of a run outside the chain. Details that
// are added at the same time follow one another.
func (s *Store) AddDetail(ctx context.Context, tenant, run string, detail Sealed) error {
	return s.update(ctx, func(tx *Tx) error {
		for {
			added, err := tx.exec(`INSERT INTO details (tenant, run, number, wrapped, sealed)
				SELECT $1, $2, 1 + COALESCE(MAX(number), 0), $3, $4 FROM details WHERE tenant = $1 AND run = $2
				ON CONFLICT DO NOTHING`, tenant, run, detail.Wrapped, detail.Data)
			if err != nil || added > 0 {
				return err
			}
		}
	})
}

// sealed returns the sealed texts that a query selects with their wrapped keys.
func (tx *Tx) sealed(query string, args ...any) (all []Sealed, err error) {
	for scan, err := range tx.rows(query, args...) {
		if err != nil {
			return nil, err
		}
		var one Sealed
		if err := scan(&one.Wrapped, &one.Data); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Details returns what the audit keeps of a run outside the chain.
func (s *Store) Details(ctx context.Context, tenant, run string) (all []Sealed, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		all, err = tx.sealed(`SELECT wrapped, sealed FROM details WHERE tenant = $1 AND run = $2 ORDER BY number`, tenant, run)
		return err
	})
	return all, err
}

// HasRuns reports whether all of some runs of a tenant are in the store.
func (s *Store) HasRuns(ctx context.Context, tenant string, ids []string) (all bool, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		all = true
		for _, id := range ids {
			if all, err = tx.row([]any{new(int64)}, `SELECT 1 FROM runs WHERE tenant = $1 AND id = $2`, tenant, id); err != nil || !all {
				return err
			}
		}
		return nil
	})
	return all, err
}

// RunsOf returns runs of a tenant that were accepted until a time and have one of
// some digests in their vaults, or are those of some actors.
func (s *Store) RunsOf(ctx context.Context, tenant string, until time.Time, digests, actors []string) (runs []string, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		runs = nil
		collect := func(query string, args ...any) error {
			for scan, err := range tx.rows(query, args...) {
				if err != nil {
					return err
				}
				var id string
				if err := scan(&id); err != nil {
					return err
				}
				runs = append(runs, id)
			}
			return nil
		}
		for _, digest := range digests {
			if err := collect(`SELECT r.id FROM subjects s JOIN runs r ON r.tenant = s.tenant AND r.id = s.run
				WHERE s.tenant = $1 AND s.digest = $2 AND r.created <= $3`, tenant, digest, microsOf(until)); err != nil {
				return err
			}
		}
		for _, actor := range actors {
			if err := collect(`SELECT id FROM runs WHERE tenant = $1 AND actor = $2 AND created <= $3`, tenant, actor, microsOf(until)); err != nil {
				return err
			}
		}
		return nil
	})
	return runs, err
}

// Active returns how many runs of a tenant that were accepted until a time have not
// ended.
func (s *Store) Active(ctx context.Context, tenant string, until time.Time) (n int, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		_, err := tx.row([]any{&n}, `SELECT COUNT(*) FROM runs WHERE tenant = $1 AND state <> 'done' AND created <= $2`, tenant, microsOf(until))
		return err
	})
	return n, err
}

// Actors returns the actors of a tenant: of runs, answers, usage and tokens.
func (s *Store) Actors(ctx context.Context, tenant string) (actors []string, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		actors = nil
		for scan, err := range tx.rows(`SELECT actor FROM runs WHERE tenant = $1 UNION SELECT actor FROM approvals WHERE tenant = $1
			UNION SELECT actor FROM uses WHERE tenant = $1 UNION SELECT name FROM tokens WHERE tenant = $1`, tenant) {
			if err != nil {
				return err
			}
			var actor string
			if err := scan(&actor); err != nil {
				return err
			}
			actors = append(actors, actor)
		}
		return nil
	})
	return actors, err
}

// Removed is how much was removed.
type Removed struct {
	Runs, Events, Approvals, Requests, Vaults, Details, Artifacts, Tokens int64
}

// add adds what another step removed.
func (r *Removed) add(more Removed) {
	r.Runs += more.Runs
	r.Events += more.Events
	r.Approvals += more.Approvals
	r.Requests += more.Requests
	r.Vaults += more.Vaults
	r.Details += more.Details
	r.Artifacts += more.Artifacts
	r.Tokens += more.Tokens
}

// removeStep bounds the runs that one transaction removes, so that other writers do
// not wait long.
const removeStep = 500

// Remove removes runs with all that belongs to them. Those that have not ended stay,
// and are returned, unless no server uses the store.
func (s *Store) Remove(ctx context.Context, tenant string, runs []string, unused bool) (removed Removed, active []string, err error) {
	for from := 0; from < len(runs); from += removeStep {
		step := runs[from:min(from+removeStep, len(runs))]
		var r Removed
		var left []string
		err := s.update(ctx, func(tx *Tx) error {
			r, left = Removed{}, nil
			for _, id := range step {
				var active int64
				if _, err := tx.row([]any{&active}, `SELECT CASE WHEN state = 'done' THEN 0 ELSE 1 END FROM runs WHERE tenant = $1 AND id = $2`+tx.s.lock(), tenant, id); err != nil {
					return err
				}
				if active != 0 && !unused {
					left = append(left, id)
					continue
				}
				if _, err := tx.exec(`DELETE FROM queue WHERE tenant = $1 AND id = $2`, tenant, id); err != nil {
					return err
				}
				// Its session has what the run saw. It cannot be woken without the row.
				if _, err := tx.exec(`DELETE FROM sessions WHERE tenant = $1 AND EXISTS (SELECT 1 FROM runs r
					WHERE r.tenant = $1 AND r.id = $2 AND r.actor = sessions.actor AND r.session = sessions.name)`, tenant, id); err != nil {
					return err
				}
				if err := tx.remove(key{tenant, id}, &r); err != nil {
					return err
				}
				n, err := tx.removeArtifacts(ofRun, tenant, id)
				if err != nil {
					return err
				}
				r.Artifacts += n
			}
			return nil
		})
		if err != nil {
			return removed, active, err
		}
		removed.add(r)
		active = append(active, left...)
	}
	return removed, active, nil
}

// remove removes a run that has ended.
func (tx *Tx) remove(k key, r *Removed) error {
	for _, one := range []struct {
		count     *int64
		statement string
	}{
		{&r.Events, `DELETE FROM events WHERE tenant = $1 AND run = $2`},
		{new(int64), `DELETE FROM notices WHERE tenant = $1 AND approval IN (SELECT id FROM approvals WHERE tenant = $1 AND run = $2)`},
		{&r.Approvals, `DELETE FROM approvals WHERE tenant = $1 AND run = $2`},
		{&r.Requests, `DELETE FROM idempotency WHERE tenant = $1 AND run = $2`},
		{new(int64), `DELETE FROM journal WHERE tenant = $1 AND run = $2`},
		{new(int64), `DELETE FROM signals WHERE tenant = $1 AND run = $2`},
		{&r.Vaults, `DELETE FROM vaults WHERE tenant = $1 AND run = $2`},
		{&r.Details, `DELETE FROM details WHERE tenant = $1 AND run = $2`},
		{new(int64), `DELETE FROM uses WHERE tenant = $1 AND run = $2`},
		{new(int64), `DELETE FROM tasks WHERE tenant = $1 AND run = $2`},
		{&r.Runs, `DELETE FROM runs WHERE tenant = $1 AND id = $2`},
	} {
		n, err := tx.exec(one.statement, k.tenant, k.id)
		if err != nil {
			return err
		}
		*one.count += n
	}
	return nil
}

// RemoveActor removes the tokens with a name, and the name from answers and usage.
func (s *Store) RemoveActor(ctx context.Context, tenant, actor string, until time.Time) (removed Removed, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		removed = Removed{}
		var err error
		if removed.Artifacts, err = tx.removeArtifacts(ofActor, tenant, actor, microsOf(until)); err != nil {
			return err
		}
		for _, one := range []struct {
			count     *int64
			statement string
		}{
			{&removed.Approvals, `UPDATE approvals SET actor = '', reason = '' WHERE tenant = $1 AND actor = $2 AND asked <= $3`},
			{&removed.Tokens, `DELETE FROM tokens WHERE tenant = $1 AND name = $2 AND created <= $3`},
			{new(int64), `UPDATE uses SET actor = '' WHERE tenant = $1 AND actor = $2 AND at <= $3`},
			{new(int64), `DELETE FROM sessions WHERE tenant = $1 AND actor = $2 AND created <= $3`},
		} {
			n, err := tx.exec(one.statement, tenant, actor, microsOf(until))
			if err != nil {
				return err
			}
			*one.count += n
		}
		return nil
	})
	return removed, err
}

// Deletion is the record of a deletion. What it has of the person is sealed, and is
// digests.
type Deletion struct {
	ID, Tenant string
	At         time.Time // applies to what was accepted until then
	Applied    bool
	Sealed     Sealed
}

// AddDeletion keeps the record of a deletion that is to be applied, unless there is
// one with its id.
func (s *Store) AddDeletion(ctx context.Context, d Deletion) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO deletions (id, tenant, at, applied, wrapped, sealed) VALUES ($1, $2, $3, 0, $4, $5) ON CONFLICT DO NOTHING`,
			d.ID, d.Tenant, microsOf(d.At), d.Sealed.Wrapped, d.Sealed.Data)
		return err
	})
}

// SetApplied notes that a deletion was applied.
func (s *Store) SetApplied(ctx context.Context, id string) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`UPDATE deletions SET applied = $2 WHERE id = $1`, id, tx.s.micros())
		return err
	})
}

// Deletions returns the records of deletions, the oldest first.
func (s *Store) Deletions(ctx context.Context) (all []Deletion, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		all = nil
		for scan, err := range tx.rows(`SELECT id, tenant, at, applied, wrapped, sealed FROM deletions ORDER BY at, id`) {
			if err != nil {
				return err
			}
			var d Deletion
			var at, applied int64
			if err := scan(&d.ID, &d.Tenant, &at, &applied, &d.Sealed.Wrapped, &d.Sealed.Data); err != nil {
				return err
			}
			d.At, d.Applied = timeOf(at), applied != 0
			all = append(all, d)
		}
		return nil
	})
	return all, err
}

// Scrub removes what the database still has of deleted rows: SQLite overwrites them,
// and the log is emptied; PostgreSQL vacuums the tables.
func (s *Store) Scrub(ctx context.Context) error { return s.outcome(s.scrub(ctx, s.write)) }

// Sealed is content that is encrypted with its own key, which the seal key has
// wrapped. Without either of the two it cannot be read.
type Sealed struct{ Wrapped, Data []byte }

// Key returns a wrapped key by its name, or nil if it does not exist.
func (s *Store) Key(ctx context.Context, name string) (wrapped []byte, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		wrapped, err = tx.key(name)
		return err
	})
	return wrapped, err
}

func (tx *Tx) key(name string) (wrapped []byte, err error) {
	_, err = tx.row([]any{&wrapped}, `SELECT wrapped FROM keys WHERE name = $1`, name)
	return wrapped, err
}

// AddKey keeps a wrapped key unless there is one with the name, and returns the one
// that is kept.
func (s *Store) AddKey(ctx context.Context, name string, wrapped []byte) (kept []byte, err error) {
	if len(wrapped) == 0 {
		return nil, fault.New(fault.Internal, "keep the key %s: it is empty", name)
	}
	err = s.update(ctx, func(tx *Tx) error {
		if _, err := tx.exec(`INSERT INTO keys (name, wrapped) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, wrapped); err != nil {
			return err
		}
		kept, err = tx.key(name)
		return err
	})
	return kept, err
}
