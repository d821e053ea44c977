package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/audit"
)

// Bounds of what is kept of what a run saw. A run that saw more runs on, and
// cannot be repeated.
const (
	maxClock  = 100_000  // looks at the clock
	maxLooks  = 50_000   // looks at files
	maxRead   = 64 << 20 // bytes of files
	maxReads  = 100_000  // reads of the standard input
	maxStdin  = 64 << 20 // bytes of the standard input
	maxLooked = 4 << 10  // bytes of a path
)

// witness keeps what a run sees of the world, so that a replay can show it
// again. Its methods are called by the guest's goroutine alone.
type witness struct {
	clock []int64
	input []byte
	reads []int
	looks []*look
	size  int // of what was read of files
	lost  []string
}

// look is one look at files on its way into the record.
type look struct {
	audit.FileOp
	read []part
}

type part struct {
	at   int64
	data []byte
}

func (w *witness) lose(what string) {
	for _, l := range w.lost {
		if l == what {
			return
		}
	}
	w.lost = append(w.lost, what)
}

// told notes what the clock showed.
func (w *witness) told(since time.Duration) {
	if len(w.clock) >= maxClock {
		w.lose("clock")
		return
	}
	w.clock = append(w.clock, int64(since))
}

// took notes what was read of the standard input.
func (w *witness) took(p []byte) {
	if len(p) == 0 {
		return
	}
	if len(w.input)+len(p) > maxStdin || len(w.reads) >= maxReads {
		w.lose("input")
		return
	}
	w.input, w.reads = append(w.input, p...), append(w.reads, len(p))
}

// looked notes a look at files.
func (w *witness) looked(op, at, to string, errno experimentalsys.Errno) *look {
	l := &look{FileOp: audit.FileOp{Op: op, Path: clip(at, maxLooked), To: clip(to, maxLooked), Errno: int(errno)}}
	if len(w.looks) >= maxLooks {
		w.lose("files")
		return l
	}
	w.looks = append(w.looks, l)
	return l
}

// record is what is kept.
func (w *witness) record() *audit.World {
	s := &audit.World{Clock: w.clock, Input: w.input, Reads: w.reads, Dropped: w.lost}
	for _, l := range w.looks {
		if len(l.read) > 0 {
			sum := sha256.New()
			for _, p := range l.read {
				l.Parts = append(l.Parts, audit.FileRange{At: p.at, Data: p.data})
				sum.Write(p.data)
			}
			l.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
		s.Files = append(s.Files, l.FileOp)
	}
	return s
}

// watched is a run's file system under the eyes of a witness.
type watched struct {
	experimentalsys.FS
	by *witness
}

// scratch reports whether a path is of the scratch folder, which a replay has
// too.
func scratch(p string) bool {
	p = path.Clean("/" + p)
	return p == "/tmp" || strings.HasPrefix(p, "/tmp/")
}

func statOf(s sys.Stat_t) []int64 {
	return []int64{int64(s.Dev), int64(s.Ino), int64(s.Mode), int64(s.Nlink), s.Size, s.Atim, s.Mtim, s.Ctim}
}

func (f *watched) OpenFile(p string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	file, errno := f.FS.OpenFile(p, flag, perm)
	if scratch(p) {
		return file, errno
	}
	l := f.by.looked("open", p, "", errno)
	l.Flag = int(flag)
	if errno != 0 {
		return file, errno
	}
	if s, errno := file.Stat(); errno == 0 {
		l.Stat = statOf(s)
	}
	return &watchedFile{File: file, look: l, by: f.by}, 0
}

func (f *watched) stat(op, p string, stat func(string) (sys.Stat_t, experimentalsys.Errno)) (sys.Stat_t, experimentalsys.Errno) {
	s, errno := stat(p)
	if !scratch(p) {
		l := f.by.looked(op, p, "", errno)
		if errno == 0 {
			l.Stat = statOf(s)
		}
	}
	return s, errno
}

func (f *watched) Stat(p string) (sys.Stat_t, experimentalsys.Errno) {
	return f.stat("stat", p, f.FS.Stat)
}

func (f *watched) Lstat(p string) (sys.Stat_t, experimentalsys.Errno) {
	return f.stat("lstat", p, f.FS.Lstat)
}

func (f *watched) Readlink(p string) (string, experimentalsys.Errno) {
	text, errno := f.FS.Readlink(p)
	if !scratch(p) {
		f.by.looked("readlink", p, "", errno).Text = text
	}
	return text, errno
}

// changed notes what became of an attempt to change something.
func (f *watched) changed(op, p, to string, errno experimentalsys.Errno) experimentalsys.Errno {
	if !scratch(p) || (to != "" && !scratch(to)) {
		f.by.looked(op, p, to, errno)
	}
	return errno
}

func (f *watched) Mkdir(p string, perm fs.FileMode) experimentalsys.Errno {
	return f.changed("mkdir", p, "", f.FS.Mkdir(p, perm))
}

func (f *watched) Chmod(p string, perm fs.FileMode) experimentalsys.Errno {
	return f.changed("chmod", p, "", f.FS.Chmod(p, perm))
}

func (f *watched) Rename(from, to string) experimentalsys.Errno {
	return f.changed("rename", from, to, f.FS.Rename(from, to))
}

func (f *watched) Rmdir(p string) experimentalsys.Errno {
	return f.changed("rmdir", p, "", f.FS.Rmdir(p))
}

func (f *watched) Unlink(p string) experimentalsys.Errno {
	return f.changed("unlink", p, "", f.FS.Unlink(p))
}

func (f *watched) Link(from, to string) experimentalsys.Errno {
	return f.changed("link", from, to, f.FS.Link(from, to))
}

func (f *watched) Symlink(target, link string) experimentalsys.Errno {
	return f.changed("symlink", link, "", f.FS.Symlink(target, link))
}

func (f *watched) Utimens(p string, atim, mtim int64) experimentalsys.Errno {
	return f.changed("utimens", p, "", f.FS.Utimens(p, atim, mtim))
}

// watchedFile is one of its files.
type watchedFile struct {
	experimentalsys.File
	look *look
	by   *witness
	seen map[string]bool // names that are in the record
}

func (f *watchedFile) read(at int64, p []byte) {
	if len(p) == 0 {
		return
	}
	if f.by.size+len(p) > maxRead {
		f.by.lose("files")
		return
	}
	for _, old := range f.look.read {
		if at >= old.at && at+int64(len(p)) <= old.at+int64(len(old.data)) {
			return // seen before
		}
	}
	f.by.size += len(p)
	if n := len(f.look.read); n > 0 {
		if last := &f.look.read[n-1]; last.at+int64(len(last.data)) == at {
			last.data = append(last.data, p...)
			return
		}
	}
	f.look.read = append(f.look.read, part{at, append([]byte(nil), p...)})
}

func (f *watchedFile) Read(p []byte) (int, experimentalsys.Errno) {
	at, unseekable := f.File.Seek(0, io.SeekCurrent)
	n, errno := f.File.Read(p)
	switch {
	case n <= 0:
	case unseekable != 0:
		f.by.lose("files")
	default:
		f.read(at, p[:n])
	}
	return n, errno
}

func (f *watchedFile) Pread(p []byte, off int64) (int, experimentalsys.Errno) {
	n, errno := f.File.Pread(p, off)
	if n > 0 {
		f.read(off, p[:n])
	}
	return n, errno
}

func (f *watchedFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	list, errno := f.File.Readdir(n)
	for _, d := range list {
		if !f.seen[d.Name] {
			if f.by.size += len(d.Name) + 32; f.by.size > maxRead {
				f.by.lose("files")
				break
			}
			if f.seen == nil {
				f.seen = map[string]bool{}
			}
			f.seen[d.Name] = true
			f.look.Names = append(f.look.Names, audit.DirEntry{Name: d.Name, Ino: d.Ino, Mode: uint32(d.Type)})
		}
	}
	return list, errno
}
