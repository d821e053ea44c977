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

// migrate brings the schema to the version of this binary, in one transaction.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := migrationsOf(migrationFiles)
	if err != nil {
		return err
	}
	return s.update(ctx, func(tx *Tx) error { return tx.migrate(steps) })
}

func (tx *Tx) migrate(steps []migration) error {
	if lock := tx.s.lockMigrations(); lock != "" {
		if _, err := tx.exec(lock); err != nil {
			return err
		}
	}
	if _, err := tx.exec("CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)"); err != nil {
		return err
	}
	version, err := tx.version()
	if err != nil {
		return err
	}
	if newest := int64(len(steps)); version > newest {
		return fault.New(fault.UsageStore, "a newer wexec wrote this store: its schema has version %d, this binary knows %d", version, newest).WithHint("use the newer wexec")
	}
	for _, m := range steps[version:] {
		for statement := range strings.SplitSeq(tx.s.schema(m.text), ";\n") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			if _, err := tx.exec(statement); err != nil {
				return fmt.Errorf("migration %d: %w", m.version, err)
			}
		}
		if _, err := tx.exec("INSERT INTO migrations (version, applied) VALUES ($1, $2)", m.version, tx.s.micros()); err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of the schema; 0 is an empty store.
func (tx *Tx) version() (version int64, err error) {
	_, err = tx.row([]any{&version}, "SELECT COALESCE(MAX(version), 0) FROM migrations")
	return version, err
}
