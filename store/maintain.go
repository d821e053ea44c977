package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// tables are the tables that hold data, each after those that it refers to.
func tables() []string {
	return []string{"runs", "events", "uses", "idempotency", "queue", "approvals", "tokens", "keys", "vaults", "subjects", "details", "deletions", "spent", "artifacts", "artifact_totals", "notices", "notice_numbers", "sessions", "audit_chains", "audit_segments", "audit_parts", "journal", "signals", "tasks"}
}

// Report is what a check found.
type Report struct {
	Version int64            // of the schema
	Rows    map[string]int64 // by table
	Faults  []string         // what contradicts something else
}

// Check reads the whole store and looks for damage and for records that contradict
// each other. It changes nothing and may run while a server uses the store.
func (s *Store) Check(ctx context.Context) (r Report, err error) {
	if err := s.check(ctx, s.read); err != nil {
		return r, s.outcome(err)
	}
	err = s.view(ctx, func(tx *Tx) error {
		r = Report{Rows: map[string]int64{}}
		if r.Version, err = tx.version(); err != nil {
			return err
		}
		for _, table := range tables() {
			var n int64
			if _, err := tx.row([]any{&n}, "SELECT COUNT(*) FROM "+table); err != nil {
				return err
			}
			r.Rows[table] = n
		}
		for _, one := range [][2]string{
			{"runs that are not done and in no queue", `SELECT tenant, id FROM runs r WHERE state <> 'done' AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.tenant = r.tenant AND q.id = r.id)`},
			{"runs that are done and queued", `SELECT q.tenant, q.id FROM queue q JOIN runs r ON r.tenant = q.tenant AND r.id = q.id WHERE r.state = 'done'`},
			{"queued runs that do not exist", `SELECT tenant, id FROM queue q WHERE kind = 'run' AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant = q.tenant AND r.id = q.id)`},
			{"tasks whose run is absent, or is not theirs", `SELECT tenant, id FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant = t.tenant AND r.id = t.run AND r.task = t.id)`},
			{"tasks that have not ended and whose run has", `SELECT t.tenant, t.id FROM tasks t JOIN runs r ON r.tenant = t.tenant AND r.id = t.run WHERE t.ended = 0 AND t.state <> 'review' AND r.state = 'done'`},
			{"parked runs that nothing wakes", `SELECT tenant, id FROM runs r WHERE state = 'parked' AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.tenant = r.tenant AND q.id = r.id AND q.leased = 2)`},
			{"journals of runs that have ended", `SELECT j.tenant, j.run FROM journal j JOIN runs r ON r.tenant = j.tenant AND r.id = j.run WHERE r.state = 'done'`},
			{"runs with a gap in their events", `SELECT r.tenant, r.id FROM runs r WHERE r.events <> (SELECT COUNT(*) FROM events e WHERE e.tenant = r.tenant AND e.run = r.id)`},
			{"questions of runs that do not exist", `SELECT tenant, id FROM approvals a WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant = a.tenant AND r.id = a.run)`},
			{"notices that are in no queue", `SELECT tenant, id FROM notices n WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE q.tenant = n.tenant AND q.kind = 'notice')`},
			{"idempotency keys of runs that are absent", `SELECT tenant, run FROM idempotency i WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant = i.tenant AND r.id = i.run)`},
			{"sealed segments of the audit without their content", `SELECT tenant, name FROM audit_segments g WHERE bytes <> (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM audit_parts p WHERE p.content = g.content)`},
			{"chains of the audit that miss a segment", `SELECT tenant, id FROM audit_chains c WHERE sealed <> (SELECT COUNT(*) FROM audit_segments g WHERE g.tenant = c.tenant AND g.chain = c.id)`},
			{"totals of artifacts that are wrong", `SELECT tenant, '' FROM artifact_totals t WHERE bytes <> (SELECT COALESCE(SUM(bytes), 0) FROM artifacts a WHERE a.tenant = t.tenant)`},
		} {
			found, err := tx.keys(one[1] + " LIMIT 1")
			if err != nil {
				return err
			}
			if len(found) > 0 {
				r.Faults = append(r.Faults, fmt.Sprintf("%s, such as %s of tenant %s", one[0], found[0].id, found[0].tenant))
			}
		}
		return nil
	})
	return r, err
}

// Copy copies everything into an empty store, as people do who move from SQLite to
// PostgreSQL. The target has all of it or nothing.
func (s *Store) Copy(ctx context.Context, to *Store) error {
	return s.view(ctx, func(from *Tx) error {
		return to.update(ctx, func(tx *Tx) error {
			for _, table := range tables() {
				var n int64
				if _, err := tx.row([]any{&n}, "SELECT COUNT(*) FROM "+table); err != nil {
					return err
				}
				if n > 0 {
					return fail("the target is not empty: it has %d %s", n, table).WithHint("copy into a new store")
				}
			}
			for _, table := range tables() {
				if err := copyTable(from, tx, table); err != nil {
					return fmt.Errorf("%s: %w", table, err)
				}
			}
			return nil
		})
	})
}

// copyTable copies the rows of a table.
func copyTable(from, to *Tx, table string) error {
	rows, err := from.tx.QueryContext(from.ctx, "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	places := make([]string, len(columns))
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range columns {
		places[i], pointers[i] = placeholder(i+1), &values[i]
	}
	insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(places, ", ") + ")"
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		for i, v := range values {
			if data, ok := v.([]byte); v == nil || ok && data == nil {
				values[i] = []byte{} // no column is NULL; drivers return empty data so
			}
		}
		if _, err := to.exec(insert, values...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Backup writes a copy of the store to a new file, which is a store in SQLite. A
// server may go on writing; the copy has one moment of it.
func (s *Store) Backup(ctx context.Context, file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.New(fault.UsageFile, "the backup cannot be written: %w", err).WithHint("name a new file in an existing folder")
	}
	_ = f.Close()
	defer func() {
		if err != nil {
			_ = os.Remove(file)
		}
	}()
	to, err := Open(ctx, "sqlite:"+file, Options{})
	if err != nil {
		return err
	}
	if err := s.Copy(ctx, to); err != nil {
		_ = to.Close()
		return err
	}
	return to.Close()
}

// Restore copies a backup into an empty store.
func (s *Store) Restore(ctx context.Context, file string) error {
	dir, err := os.MkdirTemp("", "wexec-restore-")
	if err != nil {
		return fault.New(fault.UsageFile, "the backup cannot be copied: %w", err)
	}
	defer os.RemoveAll(dir)
	// a copy is migrated, so that the backup stays as it is
	copied := filepath.Join(dir, "backup.db")
	if err := copyFile(file, copied); err != nil {
		return fault.New(fault.UsageFile, "the backup cannot be read: %w", err)
	}
	before, _, err := Migrate(ctx, "sqlite:"+copied, Options{})
	switch {
	case before == 0 && (err == nil || errors.Is(err, fault.UsageStore)):
		return fail("%s is not a backup of a store", file)
	case err != nil:
		return err
	}
	from, err := Open(ctx, "sqlite:"+copied, Options{Existing: true})
	if err != nil {
		return err
	}
	defer from.Close()
	return from.Copy(ctx, s)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// Prune removes runs that ended before a time, with what belongs to them, and
// returns how many. The empty tenant is all tenants, and then artifacts that have
// expired are removed as well; servers collect their blobs.
func (s *Store) Prune(ctx context.Context, tenant string, before time.Time) (removed int, err error) {
	if removed, err = s.pruneRuns(ctx, tenant, before, false); err != nil {
		return removed, err
	}
	for tenant == "" {
		if old, err := s.ExpireArtifacts(ctx); err != nil || len(old) == 0 {
			return removed, err
		}
	}
	return removed, nil
}

// PruneCommands removes the runs of commands, which have no token, that ended before a
// time, and returns how many.
func (s *Store) PruneCommands(ctx context.Context, tenant string, before time.Time) (removed int, err error) {
	return s.pruneRuns(ctx, tenant, before, true)
}

// pruneRuns removes the runs of a tenant, or of all, that ended before a time.
func (s *Store) pruneRuns(ctx context.Context, tenant string, before time.Time, commands bool) (removed int, err error) {
	for {
		var old []key
		err := s.update(ctx, func(tx *Tx) error {
			if old, err = tx.keys(`SELECT tenant, id FROM runs WHERE state = 'done' AND ended < $1 AND ($3 = '' OR tenant = $3) AND ($4 = 0 OR token = '') ORDER BY ended LIMIT $2`, before.UnixMicro(), removeStep, tenant, bit(commands)); err != nil {
				return err
			}
			for _, k := range old {
				if err := tx.remove(k, &Removed{}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		if removed += len(old); len(old) < removeStep {
			return removed, nil
		}
	}
}
