package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/wexec/wexec/fault"
)

// postgres is a store that many processes share.
type postgres struct{ address string }

// leastConnect is the shortest time that a connection may take. It is longer than many
// waits for a lock: a busy server needs it to start a process for the connection.
const leastConnect = 5 * time.Second

func (d postgres) open(ctx context.Context, o Options) (pools, error) {
	c, err := pgx.ParseConfig(d.address)
	if err != nil {
		// the error of the parser may quote the password
		return pools{}, fault.New(fault.UsageStore, "the address of the store is invalid").WithHint("use postgres://USER@HOST/DATABASE")
	}
	c.RuntimeParams["application_name"] = "wexec"
	c.RuntimeParams["lock_timeout"] = durationOf(o.Wait)
	c.RuntimeParams["idle_in_transaction_session_timeout"] = durationOf(time.Minute)
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = max(o.Wait, leastConnect)
	}
	db := stdlib.OpenDB(*c)
	most := max(8, 4*runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return pools{}, fault.New(fault.StoreUnavailable, "the store at %s cannot be reached: %s", c.Host, reasons(err))
	}
	return pools{db, db, db}, nil
}

// durationOf writes a duration as a setting of PostgreSQL.
func durationOf(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// reasons returns why connecting failed, without the settings that pgx puts before
// it. pgx tries again without TLS and repeats the reason on a line for each attempt.
func reasons(err error) string {
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok && e.Unwrap() != nil {
		err = e.Unwrap()
	}
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "; ")
}

func (postgres) grouped() bool    { return false }
func (postgres) unsynced() string { return "SET LOCAL synchronous_commit = off" }

func (postgres) snapshot() *sql.TxOptions {
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

func (postgres) schema(text string) string { return strings.ReplaceAll(text, " BLOB", " BYTEA") }

func (postgres) locked(error) bool  { return false } // it has a fair queue
func (postgres) skipLocked() string { return " FOR UPDATE SKIP LOCKED" }
func (postgres) lock() string       { return " FOR UPDATE" }

func (postgres) migrated() string {
	return "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'migrations'"
}

// The key of the lock is "wexec" in ASCII.
func (postgres) lockMigrations() string { return "SELECT pg_advisory_xact_lock(512803497315)" }

// Codes of PostgreSQL: https://www.postgresql.org/docs/current/errcodes-appendix.html
func (postgres) transient(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300":
			return true
		}
		return strings.HasPrefix(e.Code, "08")
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, isNet := errors.AsType[net.Error](err)
	_, isConnect := errors.AsType[*pgconn.ConnectError](err)
	return isNet || isConnect || errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// A vacuum cannot be part of a transaction.
func (postgres) scrub(ctx context.Context, db *sql.DB) error {
	for _, table := range tables() {
		if _, err := db.ExecContext(ctx, "VACUUM "+table); err != nil {
			return err
		}
	}
	return nil
}

func (postgres) dead(error) bool { return true }

// PostgreSQL checks its own pages; a query shows that it answers.
func (postgres) check(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) }
