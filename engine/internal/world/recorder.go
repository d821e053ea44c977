package world

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
)

// Limits of a record. A run that exceeds one goes on, and cannot be replayed.
const (
	maxClockReads = 100_000
	maxFileOps    = 50_000
	maxFileBytes  = 64 << 20
	maxReads      = 100_000 // of the standard input
	maxStdin      = 64 << 20
)

// recorder collects what a run sees. A nil recorder collects nothing.
type recorder struct {
	clock   []int64
	input   []byte
	reads   []int
	files   []*audit.FileOp
	size    int // bytes read from files
	dropped []string
}

// drop notes that a part of the record exceeded its limit.
func (r *recorder) drop(part string) {
	if !slices.Contains(r.dropped, part) {
		r.dropped = append(r.dropped, part)
	}
}

func (r *recorder) clockRead(since time.Duration) {
	switch {
	case r == nil:
	case len(r.clock) >= maxClockReads:
		r.drop("clock")
	default:
		r.clock = append(r.clock, int64(since))
	}
}

// world returns the record.
func (r *recorder) world() *audit.World {
	if r == nil {
		return nil
	}
	w := &audit.World{Clock: r.clock, Input: r.input, Reads: r.reads, Dropped: r.dropped}
	for _, op := range r.files {
		if len(op.Parts) > 0 {
			sum := sha256.New()
			for _, part := range op.Parts {
				sum.Write(part.Data)
			}
			op.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
		w.Files = append(w.Files, *op)
	}
	return w
}

// stdinRead notes what the program got of its standard input.
func (r *recorder) stdinRead(p []byte) {
	switch {
	case r == nil, len(p) == 0:
	case len(r.input)+len(p) > maxStdin || len(r.reads) >= maxReads:
		r.drop("input")
	default:
		r.input, r.reads = append(r.input, p...), append(r.reads, len(p))
	}
}

// recordingFiles returns a file system whose operations outside the scratch
// folder are recorded.
func recordingFiles(f experimentalsys.FS, r *recorder) experimentalsys.FS {
	return FileHandler(func(op FileOp) FileResult {
		result := op.On(f)
		if op.inScratch() {
			return result
		}
		rec := &audit.FileOp{Op: op.Name, Path: clipPath(op.Path), To: clipPath(op.To),
			Flag: int(op.Flag), Errno: int(result.Errno), Text: result.Text}
		if len(r.files) < maxFileOps {
			r.files = append(r.files, rec)
		} else {
			r.drop("files")
		}
		if result.Errno != 0 {
			return result
		}
		switch op.Name {
		case "stat", "lstat":
			rec.Stat = statFields(result.Stat)
		case "open":
			if s, errno := result.File.Stat(); errno == 0 {
				rec.Stat = statFields(s)
			}
			result.File = &recordedFile{File: result.File, op: rec, recorder: r, names: map[string]bool{}}
		}
		return result
	})
}

// recordedFile is an open file whose content is recorded.
type recordedFile struct {
	experimentalsys.File
	op       *audit.FileOp
	recorder *recorder
	names    map[string]bool // entries in the record
}

// read records that the bytes p were read at an offset.
func (f *recordedFile) read(at int64, p []byte) {
	if len(p) == 0 {
		return
	}
	if f.recorder.size+len(p) > maxFileBytes {
		f.recorder.drop("files")
		return
	}
	for _, old := range f.op.Parts {
		if at >= old.At && at+int64(len(p)) <= old.At+int64(len(old.Data)) {
			return
		}
	}
	f.recorder.size += len(p)
	if n := len(f.op.Parts); n > 0 {
		if last := &f.op.Parts[n-1]; last.At+int64(len(last.Data)) == at {
			last.Data = append(last.Data, p...)
			return
		}
	}
	f.op.Parts = append(f.op.Parts, audit.FileRange{At: at, Data: slices.Clone(p)})
}

func (f *recordedFile) Read(p []byte) (int, experimentalsys.Errno) {
	at, unseekable := f.File.Seek(0, io.SeekCurrent)
	n, errno := f.File.Read(p)
	switch {
	case n <= 0:
	case unseekable != 0:
		f.recorder.drop("files")
	default:
		f.read(at, p[:n])
	}
	return n, errno
}

func (f *recordedFile) Pread(p []byte, off int64) (int, experimentalsys.Errno) {
	n, errno := f.File.Pread(p, off)
	if n > 0 {
		f.read(off, p[:n])
	}
	return n, errno
}

func (f *recordedFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	list, errno := f.File.Readdir(n)
	for _, d := range list {
		if f.names[d.Name] {
			continue
		}
		if f.recorder.size += len(d.Name) + 32; f.recorder.size > maxFileBytes {
			f.recorder.drop("files")
			break
		}
		f.names[d.Name] = true
		f.op.Names = append(f.op.Names, audit.DirEntry{Name: d.Name, Ino: d.Ino, Mode: uint32(d.Type)})
	}
	return list, errno
}
