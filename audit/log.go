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

// Sync says when records are forced to the disk before Record returns. In any
// case they have left the process then: a killed process loses nothing, a
// machine without power may.
type Sync uint8

// The ways to sync.
const (
	SyncWrites Sync = iota // before effects that may change something outside: the default
	SyncNever
	SyncAlways
)

// ParseSync reads a way to sync as a configuration writes it: writes, never or
// always; empty is writes.
func ParseSync(word string) (Sync, error) {
	switch word {
	case "", "writes":
		return SyncWrites, nil
	case "never":
		return SyncNever, nil
	case "always":
		return SyncAlways, nil
	}
	return 0, fault.New(fault.UsageConfig, "there is no way to sync called %q", word).WithHint("one of writes, never, always")
}

// Options for [Open]. The zero value is safe.
type Options struct {
	// Rotate is the size in bytes at which a segment is closed and the next
	// begun. Zero means 64 MiB.
	Rotate int64
	// Sync says when records are forced to the disk.
	Sync Sync
	// Key signs the heads of segments. Nil leaves them unsigned.
	Key ed25519.PrivateKey

	disk disk
}

// Log is a sink that writes files: a segment for each process at a time, which
// the next process takes up where it was left. It is safe for concurrent use.
type Log struct {
	dir string
	o   Options

	mu   sync.Mutex
	seg  *segment
	done bool

	syncing sync.Mutex
	synced  mark // up to where the disk has everything
	owes    bool // the disk has to have what is recorded from now on, too

	scratch sync.Pool // of *[]byte, for the events of records
}

// mark is a place in a chain.
type mark struct {
	segment int
	seq     uint64
}

func (m mark) reaches(n mark) bool {
	return m.segment > n.segment || (m.segment == n.segment && m.seq >= n.seq)
}

const (
	defaultRotate = 64 << 20
	headEvery     = time.Second
	headRecords   = 4096
	maxScratch    = 64 << 10
)

// Open begins to record in a folder, which is made if need be, and which other
// processes may record in at the same time. A segment that a killed process
// left behind is taken up after its last whole record.
func Open(dir string, o Options) (*Log, error) {
	if o.Rotate <= 0 {
		o.Rotate = defaultRotate
	}
	if o.disk == nil {
		o.disk = realDisk{}
	}
	if err := o.disk.MkdirAll(dir, 0o700); err != nil {
		return nil, unavailable("make the folder %s: %w", dir, err)
	}
	l := &Log{dir: dir, o: o}
	l.scratch.New = func() any { return new([]byte) }
	seg, err := l.take()
	if err != nil {
		return nil, unavailable("open a segment in %s: %w", dir, err)
	}
	l.seg = seg
	return l, nil
}

// Record writes one event and returns its hash.
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
			return "", unavailable("force the record to the disk: %w", err)
		}
	}
	return hash, nil
}

// announces reports whether a record announces an effect that may change
// something outside.
func announces(e *Event) bool {
	return e.Decision != nil && e.Decision.Writes && e.Decision.Effect == "allow"
}

func (l *Log) append(e *Event, body []byte) (mark, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return mark{}, "", unavailable("the log is closed")
	}
	s := l.seg
	if s.size > 0 && s.size+int64(len(body))+200 > l.o.Rotate {
		// Where no next segment can be begun the old one grows on.
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
		// A head that could not be written is behind, which readers allow for.
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
			next.release() // empty, and there for the next process to take up
			return nil, err
		}
	}
	_ = old.writeHead(l.o.Key, true)
	old.release()
	l.seg = next
	return next, nil
}

// sync forces the chain up to a mark to the disk. Of many that wait, one does
// the work.
func (l *Log) sync(to mark) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.owes = true
	if l.synced.reaches(to) {
		return nil
	}
	l.mu.Lock()
	s, now := l.seg, mark{l.seg.number, l.seg.seq}
	if l.done || s.number > to.segment {
		// Rotation and closing force what they leave behind.
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	if err := s.file.Sync(); err != nil {
		if errors.Is(err, os.ErrClosed) {
			return nil // rotated meanwhile, and forced by that
		}
		return err
	}
	l.synced = now
	return nil
}

// Head is the hash of the last record, or "" where there is none.
func (l *Log) Head() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seg.hash
}

// Close writes the head and lets the segment go, for the next process to take
// up. Later records fail. Where a record had to be forced to the disk those
// after it are forced now: how it ended belongs to an effect. Where none had
// to, nobody waits for the disk.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	var err error
	if l.owes {
		err = l.seg.file.Sync()
	}
	err = errors.Join(err, l.seg.writeHead(l.o.Key, false))
	l.seg.release()
	if err != nil {
		return fault.New(fault.AuditUnavailable, "%w", err).WithOp("close the audit log")
	}
	return nil
}
