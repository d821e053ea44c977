package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/wexec/wexec/fault"
)

// sqlite is a store in one file, with one writer at a time.
type sqlite struct{ file string }

func (d sqlite) open(ctx context.Context, o Options) (p pools, err error) {
	create := 0
	if !o.Existing {
		create = os.O_CREATE
		if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
			return p, fault.New(fault.UsageStore, "the folder of the store cannot be made: %w", err)
		}
	}
	// SQLite gives its other files the mode of this one
	f, err := os.OpenFile(d.file, os.O_RDWR|create, 0o600)
	switch {
	case o.Existing && errors.Is(err, fs.ErrNotExist):
		return p, absent("there is no store in %s", d.file)
	case err != nil:
		return p, fault.New(fault.UsageStore, "the store cannot be opened: %w", err)
	}
	_ = f.Close()
	defer func() {
		if err != nil {
			_ = p.close()
			p = pools{}
		}
	}()
	if p.write, err = d.pool("immediate", "FULL", shortWait, ""); err != nil {
		return p, err
	}
	p.write.SetMaxOpenConns(1)
	if err := patient(d, o.Wait, func() error { return p.write.PingContext(ctx) }); err != nil {
		return p, fault.New(fault.UsageStore, "%s cannot be opened as a store: %w", d.file, err)
	}
	// A commit at FULL syncs the whole log, also what was written at NORMAL before.
	if p.soon, err = d.pool("immediate", "NORMAL", shortWait, ""); err != nil {
		return p, err
	}
	p.soon.SetMaxOpenConns(1)
	if p.read, err = d.pool("deferred", "FULL", o.Wait, "query_only(1)"); err != nil {
		return p, err
	}
	p.read.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	p.read.SetMaxIdleConns(max(4, runtime.GOMAXPROCS(0)))
	return p, nil
}

// shortWait is how long SQLite waits for a lock before [patient] tries again. Its own
// waits become longer with time.
const shortWait = 20 * time.Millisecond

// pool returns connections to the file. Data that is deleted is overwritten, and
// the log is kept small.
func (d sqlite) pool(lock, sync string, wait time.Duration, more string) (*sql.DB, error) {
	q := url.Values{"_txlock": {lock}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "journal_mode(WAL)", "synchronous(" + sync + ")",
		"secure_delete(1)", "foreign_keys(1)", "trusted_schema(0)", "journal_size_limit(16777216)", "cache_size(-16000)"}}
	if more != "" {
		q.Add("_pragma", more)
	}
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(d.file)}).EscapedPath(), RawQuery: q.Encode()}
	c, err := driver.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(preparing{c}), nil
}

func (sqlite) grouped() bool             { return true }
func (sqlite) unsynced() string          { return "" }
func (sqlite) snapshot() *sql.TxOptions  { return &sql.TxOptions{ReadOnly: true} }
func (sqlite) schema(text string) string { return text }
func (sqlite) skipLocked() string        { return "" }
func (sqlite) lock() string              { return "" }

func (sqlite) migrated() string {
	return "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"
}

// A transaction that may write holds the only lock there is.
func (sqlite) lockMigrations() string { return "" }

// Waiting for other writers is in [patient].
func (sqlite) transient(error) bool { return false }

func (sqlite) locked(err error) bool { return primary(err) == lib.SQLITE_BUSY }

func (sqlite) dead(err error) bool {
	switch primary(err) {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_CORRUPT, lib.SQLITE_BUSY, lib.SQLITE_INTERRUPT, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// primary returns the primary code of an error of SQLite.
func primary(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func (d sqlite) check(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fault.New(fault.StoreUnavailable, "%s is damaged: %s", d.file, found).WithHint("restore a backup with wexec store restore")
	}
	return nil
}

// Rows are overwritten when they are deleted, but the log has them from before. It
// is emptied when no reader needs it.
func (d sqlite) scrub(ctx context.Context, db *sql.DB) error {
	for end := time.Now().Add(scrubWait); ; {
		var busy, frames, moved int
		err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
		switch {
		case err != nil && !d.locked(err):
			return err
		case err == nil && busy == 0:
			return nil
		case time.Now().After(end):
			return fault.New(fault.StoreUnavailable, "the log of %s cannot be emptied, since it is being read", d.file).WithHint("send the request again when no backup is being made")
		}
		select {
		case <-time.After(shortWait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// scrubWait is how long scrub waits for readers.
const scrubWait = 30 * time.Second
