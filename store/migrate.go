package store

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is a step from one version of the schema to the next.
type migration struct {
	version int64
	text    string
}

// migrationsOf reads the numbered files.
func migrationsOf(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]migration, 0, len(names))
	for _, name := range names {
		var version int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, "migrations/"), "%d_", &version); err != nil {
			return nil, fmt.Errorf("%s has no number", name)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(text)})
	}
	slices.SortFunc(all, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	for i, m := range all {
		if m.version != int64(i+1) {
			return nil, fmt.Errorf("migration %d is missing", i+1)
		}
	}
	return all, nil
}

// migrate brings the schema to the version of this binary, in one transaction. It
// returns the version before and now.
func (s *Store) migrate(ctx context.Context) (before, now int64, err error) {
	steps, err := migrationsOf(migrationFiles)
	if err != nil {
		return 0, 0, err
	}
	now = int64(len(steps))
	// A store that is up to date is not written, since servers may write to it.
	err = s.view(ctx, func(tx *Tx) error {
		before, err = tx.migrated()
		return err
	})
	if err != nil || before == now {
		return before, now, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		before, err = tx.migrate(steps)
		return err
	})
	return before, now, err
}

func (tx *Tx) migrate(steps []migration) (version int64, err error) {
	if lock := tx.s.lockMigrations(); lock != "" {
		if _, err := tx.exec(lock); err != nil {
			return 0, err
		}
	}
	if _, err := tx.exec("CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)"); err != nil {
		return 0, err
	}
	if version, err = tx.version(); err != nil {
		return 0, err
	}
	if err := known(version, steps); err != nil {
		return version, err
	}
	for _, m := range steps[version:] {
		for statement := range strings.SplitSeq(tx.s.schema(m.text), ";\n") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			if _, err := tx.exec(statement); err != nil {
				return 0, fmt.Errorf("migration %d: %w", m.version, err)
			}
		}
		if _, err := tx.exec("INSERT INTO migrations (version, applied) VALUES ($1, $2)", m.version, tx.s.micros()); err != nil {
			return 0, err
		}
	}
	return version, nil
}

// known refuses the version of a store that a newer binary migrated.
func known(version int64, steps []migration) error {
	if newest := int64(len(steps)); version > newest {
		return fault.New(fault.UsageStore, "a newer wexec wrote this store: its schema has version %d, this binary knows %d", version, newest).WithHint("use the newer wexec")
	}
	return nil
}

// current refuses a store that has not the schema of this binary.
func (s *Store) current(ctx context.Context) error {
	steps, err := migrationsOf(migrationFiles)
	if err != nil {
		return err
	}
	return s.view(ctx, func(tx *Tx) error {
		version, err := tx.migrated()
		if err != nil {
			return err
		}
		switch newest := int64(len(steps)); {
		case version == 0:
			return absent("the database is empty: it has no store")
		case version < newest:
			return fail("the schema of the store has version %d, this binary needs %d", version, newest).WithHint("stop its servers and run wexec store migrate")
		}
		return known(version, steps)
	})
}

// absent returns the error of a store that does not exist.
func absent(format string, args ...any) error {
	return fail(format, args...).WithHint("name an existing store, or create one with wexec store migrate")
}

// migrated returns the version of the schema; 0 is an empty database.
func (tx *Tx) migrated() (version int64, err error) {
	var tables int64
	if _, err := tx.row([]any{&tables}, tx.s.migrated()); err != nil || tables == 0 {
		return 0, err
	}
	return tx.version()
}

// version returns the version of the schema; 0 is an empty store.
func (tx *Tx) version() (version int64, err error) {
	_, err = tx.row([]any{&version}, "SELECT COALESCE(MAX(version), 0) FROM migrations")
	return version, err
}
