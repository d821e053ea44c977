// Package store keeps what lasts: runs, their events, approvals, artifacts, tokens,
// usage and the queue of work, in SQLite or PostgreSQL.
//
// One SQL text serves both databases; what differs is in sqlite.go and postgres.go.
// Every row carries its tenant and every query names one. Times are integer
// microseconds. A write that has returned without an error is synced to disk.
//
// The packages above give a [Lease] with each write of a run. A process that lost
// its lease, since it was paused or cut off, gets [ErrLost] and nothing is written.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/fault"
)

// Store is an open store. Its methods may be called concurrently.
type Store struct {
	dialect
	pools
	jobs    chan job // nil if the database groups commits itself
	closing chan struct{}
	stopped chan struct{}
	now     func() time.Time
	wait    time.Duration
	work    struct{ statements, commits, syncs atomic.Int64 }
}

// Work returns how many statements the store has executed, how many commits it has
// made, and how many of them waited for the disk.
func (s *Store) Work() (statements, commits, syncs int64) {
	return s.work.statements.Load(), s.work.commits.Load(), s.work.syncs.Load()
}

// ErrLost says that a lease ended or that another process has it now. Nothing was
// written.
var ErrLost = errors.New("the lease of this work is lost")

// micros returns the present time as it is stored.
func (s *Store) micros() int64 { return s.now().UnixMicro() }

// maxGroup bounds the writes of one commit, and maxAttempts how often a
// transaction is tried that the database ended before its commit.
const (
	maxGroup    = 128
	maxAttempts = 8
)

// Tx is a transaction. Its methods remember the first error.
type Tx struct {
	s   *Store
	ctx context.Context
	tx  interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

// exec executes a statement and returns how many rows it changed.
func (tx *Tx) exec(query string, args ...any) (int64, error) {
	tx.s.work.statements.Add(1)
	res, err := tx.tx.ExecContext(tx.ctx, query, cleaned(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// rows yields the rows of a query; scan reads the present one. The last pair has
// the error, if there is one.
func (tx *Tx) rows(query string, args ...any) iter.Seq2[func(dest ...any) error, error] {
	return func(yield func(func(dest ...any) error, error) bool) {
		tx.s.work.statements.Add(1)
		rows, err := tx.tx.QueryContext(tx.ctx, query, cleaned(args)...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(rows.Scan, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// row reads the first row of a query into dest and reports whether there is one.
func (tx *Tx) row(dest []any, query string, args ...any) (bool, error) {
	for scan, err := range tx.rows(query, args...) {
		if err != nil {
			return false, err
		}
		return true, scan(dest...)
	}
	return false, nil
}

// key names a row.
type key struct{ tenant, id string }

// keys reads the keys that a query selects.
func (tx *Tx) keys(query string, args ...any) (all []key, err error) {
	for scan, err := range tx.rows(query, args...) {
		if err != nil {
			return nil, err
		}
		var k key
		if err := scan(&k.tenant, &k.id); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// view runs f on a snapshot of the store. It waits for no writer.
func (s *Store) view(ctx context.Context, f func(tx *Tx) error) error {
	return s.retry(ctx, func() error {
		tx, err := s.read.BeginTx(ctx, s.snapshot())
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		return f(&Tx{s, ctx, tx})
	})
}

// look runs f, which makes one query, without a transaction around it. It waits for no
// writer.
func (s *Store) look(ctx context.Context, f func(tx *Tx) error) error {
	return s.retry(ctx, func() error { return f(&Tx{s, ctx, s.read}) })
}

// update runs f in a transaction and commits it. f may run more than once and must
// change nothing but the store and what it overwrites each time. When update
// returns nil, what f wrote is on disk.
func (s *Store) update(ctx context.Context, f func(tx *Tx) error) error {
	return s.change(ctx, true, f)
}

// change is update, but without sync what f wrote is on disk only when a later update
// has returned.
func (s *Store) change(ctx context.Context, sync bool, f func(tx *Tx) error) error {
	if s.jobs == nil {
		return s.retry(ctx, func() error { return s.transaction(ctx, sync, f) })
	}
	j := job{ctx, f, sync, make(chan error, 1)}
	select {
	case s.jobs <- j:
		return s.outcome(<-j.done)
	case <-s.closing:
		return fault.New(fault.StoreUnavailable, "the store is closed")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// transaction runs f in a transaction and commits it, with or without a sync.
func (s *Store) transaction(ctx context.Context, sync bool, f func(tx *Tx) error) error {
	var tx *sql.Tx
	db := s.write
	if !sync {
		db = s.soon
	}
	err := patient(s.dialect, s.wait, func() (err error) {
		tx, err = db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if unsynced := s.unsynced(); !sync && unsynced != "" {
		if _, err := tx.ExecContext(ctx, unsynced); err != nil {
			return err
		}
	}
	if err := f(&Tx{s, ctx, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if s.grouped() {
			return err // the file has all of it or nothing
		}
		return &uncertain{err}
	}
	s.work.commits.Add(1)
	if sync {
		s.work.syncs.Add(1)
	}
	return nil
}

// patient tries until another process gives the lock of the database back, or until
// the wait is over. A process that writes all the time leaves short gaps only, which
// many short waits find and a long one misses.
func patient(d dialect, wait time.Duration, try func() error) error {
	for end := time.Now().Add(wait); ; {
		if err := try(); err == nil || !d.locked(err) || time.Now().After(end) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// uncertain is the failure of a commit: the database may have made it.
type uncertain struct{ err error }

func (u *uncertain) Error() string { return u.err.Error() }
func (u *uncertain) Unwrap() error { return u.err }

// MayBeWritten reports whether the write that failed may have been made, so that
// it must not be made again.
func MayBeWritten(err error) bool {
	_, unknown := errors.AsType[*uncertain](err)
	return unknown
}

// retry calls f until it ends with something else than a transient error.
func (s *Store) retry(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if _, unknown := errors.AsType[*uncertain](err); err == nil || unknown || attempt == maxAttempts || !s.transient(err) {
			return s.outcome(err)
		}
		pause := time.NewTimer(time.Duration(1+rand.IntN(8<<attempt)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

// outcome turns what the database said into an error for callers. Errors of this
// package and of contexts stay as they are.
func (s *Store) outcome(err error) error {
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, ErrLost), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if _, unknown := errors.AsType[*uncertain](err); unknown {
		return fault.New(fault.StoreUnavailable, "the store did not confirm a commit, which it may have made: %w", err)
	}
	return fault.New(fault.StoreUnavailable, "%w", err)
}

// job is a write that waits for its commit.
type job struct {
	ctx  context.Context
	f    func(tx *Tx) error
	sync bool
	done chan error
}

// writer makes the writes of one process, as many as wait in one commit. So a sync
// of the disk serves all of them.
func (s *Store) writer() {
	defer close(s.stopped)
	for {
		var group []job
		select {
		case first := <-s.jobs:
			group = append(group, first)
		case <-s.closing:
			return
		}
	more:
		for len(group) < maxGroup {
			select {
			case next := <-s.jobs:
				group = append(group, next)
			default:
				break more
			}
		}
		for i, err := range s.commit(group) {
			group[i].done <- err
		}
	}
}

// commit makes the writes of a group in one transaction. A write that fails leaves
// the others alone.
func (s *Store) commit(group []job) []error {
	if len(group) == 1 {
		j := group[0]
		return []error{s.retry(context.Background(), func() error {
			if err := context.Cause(j.ctx); err != nil {
				return err
			}
			return s.transaction(context.Background(), j.sync, j.f)
		})}
	}
	errs := make([]error, len(group))
	sync := slices.ContainsFunc(group, func(j job) bool { return j.sync })
	err := s.retry(context.Background(), func() error {
		clear(errs)
		return s.transaction(context.Background(), sync, func(tx *Tx) error {
			for i, j := range group {
				if errs[i] = context.Cause(j.ctx); errs[i] != nil {
					continue
				}
				if _, err := tx.exec("SAVEPOINT one"); err != nil {
					return err
				}
				if errs[i] = j.f(tx); errs[i] != nil {
					if s.dead(errs[i]) {
						return errs[i]
					}
					if _, err := tx.exec("ROLLBACK TO one"); err != nil {
						return errors.Join(errs[i], err)
					}
				}
				if _, err := tx.exec("RELEASE one"); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// fail returns a usage error of a store.
func fail(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageStore, "%s", fmt.Sprintf(format, args...))
}

// conflict returns the error of a request that another one excludes.
func conflict(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageConflict, format, args...)
}
