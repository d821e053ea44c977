package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
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

// maxWords bounds the text of a run that searches see, and maxSearched the
// words of a search.
const (
	maxWords    = 32 << 10
	maxSearched = 16
)

// likeText escapes what has a meaning in LIKE.
var likeText = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// placeholder returns the name of an argument of a query.
func placeholder(n int) string { return "$" + strconv.Itoa(n) }

// clean returns text as every database can keep it: valid UTF-8 without NUL.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// cleaned returns arguments of a query with clean texts. Otherwise a NUL that a
// client sends would be an error of the database.
func cleaned(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = clean(text)
		}
	}
	return args
}

// words returns what searches see: the beginning of texts in lower case.
func words(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		if text == "" || b.Len() >= maxWords {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text[:min(len(text), maxWords-b.Len())])
	}
	return strings.ToLower(b.String())
}

// notNil returns data for a column that is never NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// bit returns how a boolean is stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// timeOf returns a stored time; 0 is the zero time.
func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// microsOf returns how a time is stored.
func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
