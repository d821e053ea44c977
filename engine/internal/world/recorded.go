package world

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// Recorded is the [World] that a recorded run saw. Only its scratch folder is
// real.
type Recorded struct {
	*clock
	entropy
	rec   audit.Recording
	guest string // digest of the guest that runs the replay

	input []byte // not read yet
	reads []int  // lengths of the next reads
	files []audit.FileOp
	next  int // the next of files
	fail  func(error)
}

// NewRecorded returns the world of a recorded run for its replay in the guest
// with a digest.
func NewRecorded(rec audit.Recording, guest string) *Recorded {
	s, seen := &rec.Start, rec.End.World
	r := &Recorded{clock: newClock(true), entropy: seeded(s.Seed), rec: rec, guest: guest,
		input: seen.Input, reads: slices.Clone(seen.Reads), files: seen.Files}
	if len(seen.Reads) == 0 {
		r.input = s.Input
	}
	if !s.Deterministic {
		r.clock.start = s.Clock
		for _, d := range seen.Clock {
			r.clock.readings = append(r.clock.readings, time.Duration(d))
		}
	}
	return r
}

// AnswerOrder returns the order of the record.
func (r *Recorded) AnswerOrder() []uint64 { return slices.Clone(r.rec.End.Order) }

// Record does nothing: a replay is not recorded again.
func (*Recorded) Record() {}

// Seen is nil.
func (*Recorded) Seen() *audit.World { return nil }

// Environment returns the environment of the record.
func (r *Recorded) Environment() Environment {
	s := &r.rec.Start
	e := Environment{Variables: map[string]string{}, Servers: s.Servers, Offers: s.Offers}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		e.Variables[name] = value
	}
	return e
}

// ReadStdin reads the same pieces as the recorded run.
func (r *Recorded) ReadStdin(_ context.Context, p []byte) (int, error) {
	piece := len(r.input)
	if len(r.reads) > 0 {
		piece = min(piece, r.reads[0])
	}
	n := copy(p, r.input[:piece])
	if n == 0 {
		return 0, io.EOF
	}
	r.input = r.input[n:]
	if len(r.reads) > 0 {
		if r.reads[0] -= n; r.reads[0] <= 0 {
			r.reads = r.reads[1:]
		}
	}
	return n, nil
}

// Files returns the recorded files. Operations outside the scratch folder have the
// recorded outcome, in the recorded order.
func (r *Recorded) Files(provided experimentalsys.FS, fail func(error)) experimentalsys.FS {
	if !r.Environment().Has(OfferFiles) {
		return nil
	}
	r.fail = fail
	return FileHandler(func(op FileOp) FileResult {
		if provided != nil && op.inScratch() {
			return op.On(provided)
		}
		rec := r.nextOp(op)
		if rec == nil {
			return FileResult{Errno: experimentalsys.EIO}
		}
		result := FileResult{Stat: statOf(rec.Stat), Text: rec.Text, Errno: experimentalsys.Errno(rec.Errno)}
		if op.Name == "open" && rec.Errno == 0 {
			result.File = newReplayedFile(rec, r.differ)
		}
		return result
	})
}

// nextOp returns the recorded outcome of an operation, or nil if the recorded
// run did another one.
func (r *Recorded) nextOp(op FileOp) *audit.FileOp {
	p, to := clipPath(op.Path), clipPath(op.To)
	if r.next >= len(r.files) {
		r.differ("file operation %d, %s of /%s, is not in the record", r.next+1, op.Name, p)
		return nil
	}
	rec := &r.files[r.next]
	if rec.Op != op.Name || rec.Path != p || rec.To != to {
		r.differ("file operation %d is %s of /%s, but the record has %s of /%s", r.next+1, op.Name, p, rec.Op, rec.Path)
		return nil
	}
	r.next++
	return rec
}

// differ ends the replay.
func (r *Recorded) differ(format string, args ...any) {
	r.fail(fault.New(fault.UsageAudit, format, args...))
}

// replayedFile is an open file or folder as the recorded run saw it.
type replayedFile struct {
	experimentalsys.File // for its Seek
	op                   *audit.FileOp
	stat                 sys.Stat_t
	differ               func(format string, args ...any) // ends the replay
	offset               int64
	entry                int // the next of the folder
}

func newReplayedFile(op *audit.FileOp, differ func(string, ...any)) *replayedFile {
	f := &replayedFile{op: op, stat: statOf(op.Stat), differ: differ}
	f.File, _ = (&sysfs.AdaptFS{FS: seeker(f.seek)}).OpenFile("file", experimentalsys.O_RDONLY, 0)
	return f
}

func (f *replayedFile) Dev() (uint64, experimentalsys.Errno)       { return f.stat.Dev, 0 }
func (f *replayedFile) Ino() (sys.Inode, experimentalsys.Errno)    { return f.stat.Ino, 0 }
func (f *replayedFile) IsDir() (bool, experimentalsys.Errno)       { return f.stat.Mode.IsDir(), 0 }
func (f *replayedFile) Stat() (sys.Stat_t, experimentalsys.Errno)  { return f.stat, 0 }
func (f *replayedFile) Write([]byte) (int, experimentalsys.Errno)  { return 0, experimentalsys.EBADF }
func (f *replayedFile) Truncate(int64) experimentalsys.Errno       { return experimentalsys.EBADF }
func (f *replayedFile) Sync() experimentalsys.Errno                { return 0 }
func (f *replayedFile) Datasync() experimentalsys.Errno            { return 0 }
func (f *replayedFile) Close() experimentalsys.Errno               { return 0 }
func (f *replayedFile) Utimens(int64, int64) experimentalsys.Errno { return experimentalsys.EBADF }
func (f *replayedFile) IsAppend() bool                             { return false }
func (f *replayedFile) SetAppend(bool) experimentalsys.Errno       { return 0 }
func (f *replayedFile) Pwrite([]byte, int64) (int, experimentalsys.Errno) {
	return 0, experimentalsys.EBADF
}

func (f *replayedFile) Read(p []byte) (int, experimentalsys.Errno) {
	n, errno := f.Pread(p, f.offset)
	f.offset += int64(n)
	return n, errno
}

func (f *replayedFile) Pread(p []byte, off int64) (int, experimentalsys.Errno) {
	if f.stat.Mode.IsDir() {
		return 0, experimentalsys.EISDIR
	}
	done := 0
	for done < len(p) {
		n := 0
		for _, part := range f.op.Parts {
			if off >= part.At && off < part.At+int64(len(part.Data)) {
				n = copy(p[done:], part.Data[off-part.At:])
				break
			}
		}
		if n == 0 {
			if done == 0 && off < f.stat.Size {
				f.differ("the recorded run did not read byte %d of /%s", off, f.op.Path)
				return 0, experimentalsys.EIO
			}
			break
		}
		done += n
		off += int64(n)
	}
	return done, 0
}

func (f *replayedFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if !f.stat.Mode.IsDir() {
		return nil, experimentalsys.ENOTDIR
	}
	rest := f.op.Names[min(f.entry, len(f.op.Names)):]
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	f.entry += len(rest)
	list := make([]experimentalsys.Dirent, len(rest))
	for i, d := range rest {
		list[i] = experimentalsys.Dirent{Name: d.Name, Ino: d.Ino, Type: fs.FileMode(d.Mode)}
	}
	return list, 0
}

func (f *replayedFile) seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.stat.Size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	if f.offset = offset; offset == 0 {
		f.entry = 0
	}
	return offset, nil
}

// seeker is a file that can only seek. wazero adapts it for replayedFile, which
// cannot have the method Seek itself: go vet wants that of package io.
type seeker func(offset int64, whence int) (int64, error)

func (s seeker) Seek(offset int64, whence int) (int64, error) { return s(offset, whence) }
func (s seeker) Open(string) (fs.File, error)                 { return s, nil }
func (seeker) Stat() (fs.FileInfo, error)                     { return nil, fs.ErrInvalid }
func (seeker) Read([]byte) (int, error)                       { return 0, fs.ErrInvalid }
func (seeker) Close() error                                   { return nil }
