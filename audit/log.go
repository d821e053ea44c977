package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// Sync says which records are synced to disk before Record returns. The others
// survive the end of the process, but may be lost in a power failure.
type Sync uint8

// Sync modes.
const (
	SyncWrites Sync = iota // decisions that allow side effects: the default
	SyncNever
	SyncAlways
)

// ParseSync parses a sync mode: writes, never or always. Empty means writes.
func ParseSync(word string) (Sync, error) {
	switch word {
	case "", "writes":
		return SyncWrites, nil
	case "never":
		return SyncNever, nil
	case "always":
		return SyncAlways, nil
	}
	return 0, fault.New(fault.UsageConfig, "invalid sync mode %q", word).WithHint("use writes, never or always")
}

// Options configures [Open]. The zero value is safe.
type Options struct {
	// Rotate is the size in bytes at which a new segment begins. Zero means
	// 64 MiB.
	Rotate int64
	// Sync says which records are synced to disk.
	Sync Sync
	// Key signs the heads of segments. Nil leaves them unsigned.
	Key ed25519.PrivateKey

	disk disk
}

// Log is a sink that writes files. Each process has a segment at a time, which a
// later process continues. A Log is safe for concurrent use.
type Log struct {
	dir string
	o   Options

	mu   sync.Mutex
	seg  *segment
	done bool

	keeper *keeper // nil: no anchor; set once

	syncing sync.Mutex
	synced  mark // everything up to here is on disk
	syncEnd bool // a record was synced, so those after it are synced by Close

	scratch sync.Pool // of *[]byte, for encoded events
}

const (
	defaultRotate = 64 << 20
	headEvery     = time.Second
	headRecords   = 4096
	maxScratch    = 64 << 10
)

// Open opens a directory for recording and creates it if needed. Several
// processes may record in one directory. A segment that a killed process left
// is continued after its last complete record.
func Open(dir string, o Options) (*Log, error) {
	if o.Rotate <= 0 {
		o.Rotate = defaultRotate
	}
	if o.disk == nil {
		o.disk = realDisk{}
	}
	if err := o.disk.MkdirAll(dir, 0o700); err != nil {
		return nil, unavailable("create %s: %w", dir, err)
	}
	l := &Log{dir: dir, o: o}
	l.scratch.New = func() any { return new([]byte) }
	seg, err := l.acquire()
	if err != nil {
		return nil, unavailable("open a segment in %s: %w", dir, err)
	}
	l.seg = seg
	return l, nil
}

// Record implements [Sink].
func (l *Log) Record(_ context.Context, e Event) (string, error) {
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	scratch := l.scratch.Get().(*[]byte)
	body, err := encodeBody((*scratch)[:0], &e)
	if err != nil {
		return "", err
	}
	at, hash, err := l.append(&e, body)
	if *scratch = body; cap(body) <= maxScratch {
		l.scratch.Put(scratch)
	}
	if err != nil {
		return "", err
	}
	if l.o.Sync == SyncAlways || (l.o.Sync == SyncWrites && announces(&e)) {
		if err := l.sync(at); err != nil {
			return "", unavailable("sync the record to disk: %w", err)
		}
	}
	return hash, nil
}

// announces reports whether a record announces an action with side effects.
func announces(e *Event) bool {
	return e.Decision != nil && e.Decision.Writes && e.Decision.Effect == "allow"
}

func (l *Log) append(e *Event, body []byte) (mark, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return mark{}, "", unavailable("the log is closed")
	}
	if l.keeper != nil && e.Anchor == nil {
		if err := l.keeper.added(); err != nil {
			return mark{}, "", err
		}
	}
	s := l.seg
	if s.size > 0 && s.size+int64(len(body))+200 > l.o.Rotate {
		// If no segment can be created, the current one keeps growing.
		if next, err := l.rotate(); err == nil {
			s = next
		}
	}
	hash, err := s.write(e, body)
	if err != nil {
		return mark{}, "", unavailable("%w", err)
	}
	s.unheaded++
	if e.End != nil || s.unheaded >= headRecords || e.Time.Sub(s.headed) >= headEvery {
		// Readers accept a head that is behind.
		_ = s.writeHead(l.o.Key, false)
	}
	return mark{s.number, s.seq}, hash, nil
}

// rotate closes the segment and begins the next.
func (l *Log) rotate() (*segment, error) {
	old := l.seg
	next, err := l.begin(old)
	if err != nil {
		return nil, err
	}
	if l.o.Sync != SyncNever {
		if err := old.file.Sync(); err != nil {
			next.release() // empty; a later process continues it
			return nil, err
		}
	}
	_ = old.writeHead(l.o.Key, true)
	if l.keeper != nil {
		l.keeper.segmentClosed(old.state(true))
	}
	old.release()
	l.seg = next
	return next, nil
}

// sync writes the chain up to a mark to disk. Of several waiting callers, one
// does it for all.
func (l *Log) sync(to mark) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.syncEnd = true
	if l.synced.reaches(to) {
		return nil
	}
	l.mu.Lock()
	s, now := l.seg, mark{l.seg.number, l.seg.seq}
	if l.done || s.number > to.segment {
		// Rotation and Close have synced the segment.
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	if err := s.file.Sync(); err != nil {
		if errors.Is(err, os.ErrClosed) {
			return nil // closed by a rotation, which synced it
		}
		return err
	}
	l.synced = now
	return nil
}

// Head returns the hash of the last record, or "" if there is none.
func (l *Log) Head() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seg.hash
}

// Anchor begins to keep heads outside the directory, from the head as it is now.
// It may be called once.
func (l *Log) Anchor(o Anchoring) error {
	k := newKeeper(o)
	k.newest, k.record = l.newest, func(e Event) { _, _ = l.Record(context.Background(), e) }
	if k.key = l.o.Key; l.o.Sync != SyncNever {
		k.sync = l.sync
	}
	l.mu.Lock()
	l.keeper = k
	l.mu.Unlock()
	if err := k.start(); err != nil {
		return unavailable("the anchor does not keep the head: %w", err)
	}
	return nil
}

// newest returns the head as it is now, and its position.
func (l *Log) newest() (head, mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seg.state(false), mark{l.seg.number, l.seg.seq}
}

// KeepHead gives the anchor the head as it is now. Close does the same, for an
// anchor that still works then.
func (l *Log) KeepHead() {
	if l.keeper != nil {
		l.keeper.report(l.keeper.keep())
	}
}

// Close writes the head, releases the segment, and gives the head to the anchor.
// Later records fail. If a record was synced, or there is an anchor, Close syncs
// those after it, because the outcome of an action belongs to its announcement.
// Otherwise it does not wait for the disk.
func (l *Log) Close() error {
	first, err := l.close()
	if first && l.keeper != nil {
		err = errors.Join(err, l.keeper.stop())
	}
	if err != nil {
		return fault.New(fault.AuditUnavailable, "%w", err).WithOp("close the audit log")
	}
	return nil
}

// close closes the segment. First is false if that has happened before.
func (l *Log) close() (first bool, err error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return false, nil
	}
	l.done = true
	if l.syncEnd || l.keeper != nil && l.o.Sync != SyncNever {
		err = l.seg.file.Sync()
	}
	err = errors.Join(err, l.seg.writeHead(l.o.Key, false))
	l.seg.release()
	return true, err
}
