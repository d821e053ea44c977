package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Options configure a store. The zero value is right for servers.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Wait is how long a write waits for another process that is writing; 0
	// means 5 seconds.
	Wait time.Duration
	// Existing refuses a store that is absent, empty or of an older version,
	// instead of creating or migrating it. A server may use the store meanwhile.
	Existing bool
	// NoUpgrade refuses a store of an older version, as Existing does, and creates
	// one that is absent or empty.
	NoUpgrade bool
}

// pools are the connections of a store, for writes that are on disk when they end, for
// writes that are on disk after the next of those, and for reads.
type pools struct{ write, soon, read *sql.DB }

// close closes those that are open.
func (p pools) close() error {
	var errs []error
	for _, db := range slices.Compact([]*sql.DB{p.read, p.soon, p.write}) {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// dialect is what differs between databases.
type dialect interface {
	// open connects.
	open(ctx context.Context, o Options) (pools, error)
	// unsynced is a statement that keeps the commit of a transaction from waiting for
	// the disk; empty if the connections of pools.soon never wait.
	unsynced() string
	// grouped reports whether the store has to group commits itself.
	grouped() bool
	// snapshot are the options of a transaction that reads one state of the store.
	snapshot() *sql.TxOptions
	// schema translates the text of a migration.
	schema(text string) string
	// migrated is a query for the number of tables that record migrations.
	migrated() string
	// lockMigrations is a statement that keeps other processes from migrating until
	// the transaction ends.
	lockMigrations() string
	// lock and skipLocked end a SELECT that locks the rows that it finds: the first
	// waits for others who lock them, the second leaves those rows out.
	lock() string
	skipLocked() string
	// locked reports whether another process has the lock that an attempt needs, and
	// the database has waited for it a little.
	locked(err error) bool
	// transient reports whether a transaction that failed like this before its
	// commit may be tried again, and dead whether it was rolled back as a whole.
	transient(err error) bool
	dead(err error) bool
	// check looks for damage.
	check(ctx context.Context, db *sql.DB) error
	// scrub removes what is left of deleted rows.
	scrub(ctx context.Context, db *sql.DB) error
}
