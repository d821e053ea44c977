package audit

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/filelock"
)

// segment is a file of a chain that this process has locked.
type segment struct {
	number  int
	name    string
	file    file // locked
	head    file
	after   string // name of the segment before, if this process wrote it
	prev    string // hash of the last record of that segment
	size    int64
	seq     uint64
	hash    string
	buf     []byte
	tailBuf []byte
	torn    bool // the file may end with an incomplete record

	headed   time.Time
	unheaded int
	slot     int
}

const (
	counter   = "counter"
	firstRead = 8 << 10
)

func segmentName(n int) string { return fmt.Sprintf("%08d%s", n, suffix) }

// segmentNumber returns the number in the name of a segment, or 0.
func segmentNumber(name string) int {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 8 {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// segments lists the segments of a directory in order, and the highest number in
// use.
func segments(dir string) (names []string, highest int, err error) {
	// The counter is read first, so that a segment created meanwhile is not
	// reported as missing.
	if c, err := os.Open(filepath.Join(dir, counter)); err == nil {
		highest = readCounter(c)
		c.Close()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, fault.New(fault.UsageAudit, "read the audit directory: %w", err).
			WithHint("set audit.dir in the configuration, or WEXEC_AUDIT")
	}
	for _, e := range entries {
		if n := segmentNumber(e.Name()); n > 0 && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, min(highest, 100_000), nil
}

func (l *Log) open(name string, flag int) (file, error) {
	return l.o.disk.OpenFile(filepath.Join(l.dir, name), flag, 0o600)
}

// locked runs f while no other process opens or creates a segment. The locked
// file has the highest number in use, so that a deleted segment is noticed.
func (l *Log) locked(f func(c file) error) error {
	c, err := l.open(counter, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := l.o.disk.LockWait(c); err != nil {
		return err
	}
	return f(c)
}

// acquire continues a segment that no process has locked, or creates one.
func (l *Log) acquire() (*segment, error) {
	var s *segment
	err := l.locked(func(c file) error {
		entries, err := l.o.disk.ReadDir(l.dir)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(entries) {
			n := segmentNumber(e.Name())
			if n == 0 {
				continue
			}
			if s, err = l.resume(n); s != nil || err != nil {
				return err
			}
		}
		s, err = l.create(c, nil)
		return err
	})
	return s, err
}

// begin creates the segment that follows another one of this process.
func (l *Log) begin(old *segment) (*segment, error) {
	var s *segment
	err := l.locked(func(c file) error {
		var err error
		s, err = l.create(c, old)
		return err
	})
	return s, err
}

// resume continues a segment after its last complete record. It returns nil if
// another process has locked the segment, if it is closed, or if it does not
// match its head. Such a segment is left unchanged, as evidence for Verify.
func (l *Log) resume(n int) (*segment, error) {
	s := &segment{number: n, name: segmentName(n)}
	f, err := l.open(s.name, os.O_RDWR)
	if err != nil {
		return nil, nil
	}
	free, err := l.o.disk.Lock(f)
	if err != nil || !free {
		f.Close()
		return nil, err
	}
	s.file = f
	if s.head, err = l.open(headName(s.name), os.O_RDWR); err != nil {
		f.Close()
		return nil, nil
	}
	h, slot, ok := readHead(s.head)
	last, _ := readTail(s.head)
	if !ok || h.Closed || h.Segment != s.name || !s.recover(h, last) {
		s.release()
		return nil, nil
	}
	s.slot, s.after, s.prev = slot, h.After, h.Prev
	return s, s.writeHead(l.o.Key, false)
}

// recover finds the end of the last complete record, removes what a killed
// process left after it, and reports whether the segment matches its head.
func (s *segment) recover(h head, last tail) bool {
	info, err := s.file.Stat()
	if err != nil {
		return false
	}
	size := info.Size()
	if size < h.Size {
		return false
	}
	line, end, err := lastLine(s.file, size)
	if err != nil {
		return false
	}
	if end == 0 {
		s.seq, s.hash = 0, h.Prev
		return h.Seq == 0 && last.seq == 0 && s.cut(size, 0)
	}
	rec, err := parseLine(line)
	if err != nil || !rec.intact || rec.seq < h.Seq || (rec.seq == h.Seq && rec.hash != h.Hash) ||
		rec.seq < last.seq || (rec.seq == last.seq && rec.seq > 0 && rec.hash != last.hash) {
		return false
	}
	s.seq, s.hash = rec.seq, rec.hash
	return s.cut(size, end)
}

func (s *segment) cut(size, end int64) bool {
	s.size = end
	return size == end || s.file.Truncate(end) == nil
}

// lastLine reads the last complete line of a file, without its line end, and
// the offset after it.
func lastLine(f io.ReaderAt, size int64) (line []byte, end int64, err error) {
	for n := int64(firstRead); ; n *= 4 {
		n = min(n, size)
		buf := make([]byte, n)
		if _, err := f.ReadAt(buf, size-n); err != nil && !(errors.Is(err, io.EOF)) {
			return nil, 0, err
		}
		stop := bytes.LastIndexByte(buf, '\n')
		if stop >= 0 {
			start := bytes.LastIndexByte(buf[:stop], '\n')
			if start >= 0 || n == size {
				return buf[start+1 : stop], size - n + int64(stop) + 1, nil
			}
		} else if n == size {
			return nil, 0, nil
		}
		if n > 2*maxLine {
			return nil, 0, errors.New("a record is too long")
		}
	}
}

// create creates a segment with the next number.
func (l *Log) create(c file, old *segment) (*segment, error) {
	last := readCounter(c)
	entries, err := l.o.disk.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		last = max(last, segmentNumber(e.Name()))
	}
	s := &segment{number: last + 1, name: segmentName(last + 1)}
	if old != nil {
		s.after, s.prev, s.hash = old.name, old.hash, old.hash
	}
	// The counter is written last: a process killed before that leaves an empty
	// segment, not a number without one.
	if s.file, err = l.open(s.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		return nil, err
	}
	if free, err := l.o.disk.Lock(s.file); err != nil || !free {
		s.release()
		return nil, errors.Join(errors.New("a new segment is locked by another process"), err)
	}
	if s.head, err = l.open(headName(s.name), os.O_RDWR|os.O_CREATE|os.O_TRUNC); err != nil {
		s.release()
		return nil, err
	}
	if err := errors.Join(s.writeHead(l.o.Key, false), s.writeTail()); err != nil {
		s.release()
		return nil, err
	}
	if _, err := c.WriteAt(fmt.Appendf(nil, "%08d\n", s.number), 0); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func readCounter(c file) int {
	var buf [8]byte
	if _, err := c.ReadAt(buf[:], 0); err != nil {
		return 0
	}
	n, err := strconv.Atoi(string(buf[:]))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// write appends one record. If it fails, the incomplete record is removed, at
// the latest by the next write.
func (s *segment) write(e *Event, body []byte) (string, error) {
	if s.torn {
		if err := s.file.Truncate(s.size); err != nil {
			return "", fmt.Errorf("remove an incomplete record: %w", err)
		}
		s.torn = false
	}
	e.Seq, e.Prev = s.seq+1, s.hash
	line, hash := seal(s.buf[:0], e, body)
	s.buf = line
	if cap(s.buf) > 1<<20 {
		s.buf = nil
	}
	n, err := s.file.WriteAt(line, s.size)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.torn = s.file.Truncate(s.size) != nil
		return "", err
	}
	s.size += int64(len(line))
	s.seq, s.hash = e.Seq, hash
	// Readers accept a tail that is behind.
	_ = s.writeTail()
	return hash, nil
}

func (s *segment) writeTail() error {
	s.tailBuf = encodeTail(s.tailBuf, tail{s.seq, s.hash})
	_, err := s.head.WriteAt(s.tailBuf, 2*headSlot)
	return err
}

func (s *segment) release() {
	if s.file != nil {
		s.file.Close()
	}
	if s.head != nil {
		s.head.Close()
	}
}

func (s *segment) writeHead(key ed25519.PrivateKey, closed bool) error {
	h := s.state(closed)
	if _, err := s.head.WriteAt(encodeHead(h, key), int64(s.slot)*headSlot); err != nil {
		return fmt.Errorf("write the head of %s: %w", s.name, err)
	}
	s.slot = 1 - s.slot
	s.headed, s.unheaded = h.Time, 0
	return nil
}

// state returns the head as it is now.
func (s *segment) state(closed bool) head {
	return head{Segment: s.name, After: s.after, Prev: s.prev, Seq: s.seq, Hash: s.hash, Size: s.size, Closed: closed, Time: time.Now().UTC()}
}

// disk is the file system of a log. Tests replace it to inject failures.
type disk interface {
	MkdirAll(dir string, perm fs.FileMode) error
	OpenFile(name string, flag int, perm fs.FileMode) (file, error)
	ReadDir(dir string) ([]fs.DirEntry, error)
	Lock(f file) (bool, error) // false: locked by another process
	LockWait(f file) error
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
}

// realDisk is the file system of the operating system.
type realDisk struct{}

func (realDisk) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
func (realDisk) ReadDir(dir string) ([]fs.DirEntry, error)   { return os.ReadDir(dir) }

func (realDisk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (realDisk) Lock(f file) (bool, error) { return filelock.Lock(f.(*os.File), false) }

func (realDisk) LockWait(f file) error {
	_, err := filelock.Lock(f.(*os.File), true)
	return err
}
