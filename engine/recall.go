package engine

import (
	"io"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// recall is the file system of a replay: it answers each look with what the
// recorded run saw, in the same order. The scratch folder alone is real.
type recall struct {
	scratch experimentalsys.FS // nil: there is none
	looks   []audit.FileOp
	at      int
	differs func(*fault.Error) // ends the replay
}

// next is what came of the same look, or nil where the record has another one.
func (r *recall) next(op, p, to string) *audit.FileOp {
	p, to = clip(p, maxLooked), clip(to, maxLooked)
	if r.at < len(r.looks) {
		l := &r.looks[r.at]
		if l.Op == op && l.Path == p && l.To == to {
			r.at++
			return l
		}
		r.differs(fault.New(fault.UsageAudit, "look %d at files is %s of /%s, and was %s of /%s", r.at+1, op, p, l.Op, l.Path))
		return nil
	}
	r.differs(fault.New(fault.UsageAudit, "look %d at files, %s of /%s, is not in the record", r.at+1, op, p))
	return nil
}

// left says which look of the record was not repeated.
func (r *recall) left() *fault.Error {
	if r == nil || r.at >= len(r.looks) {
		return nil
	}
	l := r.looks[r.at]
	return fault.New(fault.UsageAudit, "look %d at files, %s of /%s, is in the record alone", r.at+1, l.Op, l.Path)
}

func (r *recall) mine(p string) bool { return !scratch(p) || r.scratch == nil }

func statFrom(v []int64) sys.Stat_t {
	if len(v) != 8 {
		return sys.Stat_t{}
	}
	return sys.Stat_t{Dev: uint64(v[0]), Ino: uint64(v[1]), Mode: fs.FileMode(v[2]), Nlink: uint64(v[3]),
		Size: v[4], Atim: v[5], Mtim: v[6], Ctim: v[7]}
}

func (r *recall) OpenFile(p string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	if !r.mine(p) {
		return r.scratch.OpenFile(p, flag, perm)
	}
	l := r.next("open", p, "")
	switch {
	case l == nil:
		return nil, experimentalsys.EIO
	case l.Errno != 0:
		return nil, experimentalsys.Errno(l.Errno)
	}
	f := &recalled{look: l, stat: statFrom(l.Stat), of: r}
	f.File = seeker(f.seek).file()
	return f, 0
}

func (r *recall) lookAt(op, p string) (sys.Stat_t, experimentalsys.Errno) {
	l := r.next(op, p, "")
	if l == nil {
		return sys.Stat_t{}, experimentalsys.EIO
	}
	return statFrom(l.Stat), experimentalsys.Errno(l.Errno)
}

func (r *recall) Stat(p string) (sys.Stat_t, experimentalsys.Errno) {
	if !r.mine(p) {
		return r.scratch.Stat(p)
	}
	return r.lookAt("stat", p)
}

func (r *recall) Lstat(p string) (sys.Stat_t, experimentalsys.Errno) {
	if !r.mine(p) {
		return r.scratch.Lstat(p)
	}
	return r.lookAt("lstat", p)
}

func (r *recall) Readlink(p string) (string, experimentalsys.Errno) {
	if !r.mine(p) {
		return r.scratch.Readlink(p)
	}
	l := r.next("readlink", p, "")
	if l == nil {
		return "", experimentalsys.EIO
	}
	return l.Text, experimentalsys.Errno(l.Errno)
}

// change answers an attempt to change something outside the scratch folder.
func (r *recall) change(op, p, to string, inScratch func() experimentalsys.Errno) experimentalsys.Errno {
	if !r.mine(p) && (to == "" || !r.mine(to)) {
		return inScratch()
	}
	l := r.next(op, p, to)
	if l == nil {
		return experimentalsys.EIO
	}
	return experimentalsys.Errno(l.Errno)
}

func (r *recall) Mkdir(p string, perm fs.FileMode) experimentalsys.Errno {
	return r.change("mkdir", p, "", func() experimentalsys.Errno { return r.scratch.Mkdir(p, perm) })
}

func (r *recall) Chmod(p string, perm fs.FileMode) experimentalsys.Errno {
	return r.change("chmod", p, "", func() experimentalsys.Errno { return r.scratch.Chmod(p, perm) })
}

func (r *recall) Rename(from, to string) experimentalsys.Errno {
	return r.change("rename", from, to, func() experimentalsys.Errno { return r.scratch.Rename(from, to) })
}

func (r *recall) Rmdir(p string) experimentalsys.Errno {
	return r.change("rmdir", p, "", func() experimentalsys.Errno { return r.scratch.Rmdir(p) })
}

func (r *recall) Unlink(p string) experimentalsys.Errno {
	return r.change("unlink", p, "", func() experimentalsys.Errno { return r.scratch.Unlink(p) })
}

func (r *recall) Link(from, to string) experimentalsys.Errno {
	return r.change("link", from, to, func() experimentalsys.Errno { return r.scratch.Link(from, to) })
}

func (r *recall) Symlink(target, link string) experimentalsys.Errno {
	return r.change("symlink", link, "", func() experimentalsys.Errno { return r.scratch.Symlink(target, link) })
}

func (r *recall) Utimens(p string, atim, mtim int64) experimentalsys.Errno {
	return r.change("utimens", p, "", func() experimentalsys.Errno { return r.scratch.Utimens(p, atim, mtim) })
}

// recalled is a file or folder as the recorded run saw it.
type recalled struct {
	experimentalsys.File // for its Seek
	look                 *audit.FileOp
	stat                 sys.Stat_t
	of                   *recall
	at                   int64
	next                 int
}

func (f *recalled) Dev() (uint64, experimentalsys.Errno)       { return f.stat.Dev, 0 }
func (f *recalled) Ino() (sys.Inode, experimentalsys.Errno)    { return f.stat.Ino, 0 }
func (f *recalled) IsDir() (bool, experimentalsys.Errno)       { return f.stat.Mode.IsDir(), 0 }
func (f *recalled) Stat() (sys.Stat_t, experimentalsys.Errno)  { return f.stat, 0 }
func (f *recalled) Write([]byte) (int, experimentalsys.Errno)  { return 0, experimentalsys.EBADF }
func (f *recalled) Truncate(int64) experimentalsys.Errno       { return experimentalsys.EBADF }
func (f *recalled) Sync() experimentalsys.Errno                { return 0 }
func (f *recalled) Datasync() experimentalsys.Errno            { return 0 }
func (f *recalled) Close() experimentalsys.Errno               { return 0 }
func (f *recalled) Utimens(int64, int64) experimentalsys.Errno { return experimentalsys.EBADF }
func (f *recalled) IsAppend() bool                             { return false }
func (f *recalled) SetAppend(bool) experimentalsys.Errno       { return 0 }
func (f *recalled) Pwrite([]byte, int64) (int, experimentalsys.Errno) {
	return 0, experimentalsys.EBADF
}

func (f *recalled) Read(p []byte) (int, experimentalsys.Errno) {
	n, errno := f.Pread(p, f.at)
	f.at += int64(n)
	return n, errno
}

func (f *recalled) Pread(p []byte, off int64) (int, experimentalsys.Errno) {
	if f.stat.Mode.IsDir() {
		return 0, experimentalsys.EISDIR
	}
	done := 0
	for done < len(p) {
		n := 0
		for _, part := range f.look.Parts {
			if off >= part.At && off < part.At+int64(len(part.Data)) {
				n = copy(p[done:], part.Data[off-part.At:])
				break
			}
		}
		if n == 0 {
			if done == 0 && off < f.stat.Size {
				f.of.differs(fault.New(fault.UsageAudit, "byte %d of /%s was not read by the recorded run", off, f.look.Path))
				return 0, experimentalsys.EIO
			}
			break
		}
		done += n
		off += int64(n)
	}
	return done, 0
}

func (f *recalled) seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.stat.Size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	if f.at = offset; offset == 0 {
		f.next = 0
	}
	return offset, nil
}

// seeker is a way to seek, as an adapted file has it: go vet takes a method
// Seek that answers with an errno for a slip.
type seeker func(offset int64, whence int) (int64, error)

func (s seeker) Seek(offset int64, whence int) (int64, error) { return s(offset, whence) }
func (s seeker) Open(string) (fs.File, error)                 { return s, nil }
func (seeker) Stat() (fs.FileInfo, error)                     { return nil, fs.ErrInvalid }
func (seeker) Read([]byte) (int, error)                       { return 0, fs.ErrInvalid }
func (seeker) Close() error                                   { return nil }

func (s seeker) file() experimentalsys.File {
	f, _ := (&sysfs.AdaptFS{FS: s}).OpenFile("f", experimentalsys.O_RDONLY, 0)
	return f
}

func (f *recalled) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if !f.stat.Mode.IsDir() {
		return nil, experimentalsys.ENOTDIR
	}
	rest := f.look.Names[min(f.next, len(f.look.Names)):]
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	f.next += len(rest)
	out := make([]experimentalsys.Dirent, len(rest))
	for i, d := range rest {
		out[i] = experimentalsys.Dirent{Name: d.Name, Ino: d.Ino, Type: fs.FileMode(d.Mode)}
	}
	return out, 0
}
