package world

import (
	"io/fs"
	"path"
	"strings"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/internal/text"
)

// FileOp is an operation on a file system, as a value: what routes, records or
// replays operations treats all of them alike.
type FileOp struct {
	Name         string // as the audit names it: open, stat, mkdir …
	Path         string
	To           string // second path of rename and link
	Target       string // of symlink
	Flag         experimentalsys.Oflag
	Perm         fs.FileMode
	Atime, Mtime int64
}

// FileResult is the outcome of a FileOp. Which field is set depends on the
// operation.
type FileResult struct {
	File  experimentalsys.File
	Stat  sys.Stat_t
	Text  string // target of a link
	Errno experimentalsys.Errno
}

// On does the operation on a file system.
func (op FileOp) On(f experimentalsys.FS) (r FileResult) {
	switch op.Name {
	case "open":
		r.File, r.Errno = f.OpenFile(op.Path, op.Flag, op.Perm)
	case "stat":
		r.Stat, r.Errno = f.Stat(op.Path)
	case "lstat":
		r.Stat, r.Errno = f.Lstat(op.Path)
	case "readlink":
		r.Text, r.Errno = f.Readlink(op.Path)
	case "mkdir":
		r.Errno = f.Mkdir(op.Path, op.Perm)
	case "chmod":
		r.Errno = f.Chmod(op.Path, op.Perm)
	case "rename":
		r.Errno = f.Rename(op.Path, op.To)
	case "rmdir":
		r.Errno = f.Rmdir(op.Path)
	case "unlink":
		r.Errno = f.Unlink(op.Path)
	case "link":
		r.Errno = f.Link(op.Path, op.To)
	case "symlink":
		r.Errno = f.Symlink(op.Target, op.Path)
	case "utimens":
		r.Errno = f.Utimens(op.Path, op.Atime, op.Mtime)
	default:
		r.Errno = experimentalsys.ENOSYS
	}
	return r
}

// FileHandler is a file system made of one function.
type FileHandler func(FileOp) FileResult

// OpenFile implements the file system of wazero, as do the methods below.
func (h FileHandler) OpenFile(p string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	r := h(FileOp{Name: "open", Path: p, Flag: flag, Perm: perm})
	return r.File, r.Errno
}

// Lstat returns the status of a file, without following a link.
func (h FileHandler) Lstat(p string) (sys.Stat_t, experimentalsys.Errno) {
	r := h(FileOp{Name: "lstat", Path: p})
	return r.Stat, r.Errno
}

// Stat returns the status of a file.
func (h FileHandler) Stat(p string) (sys.Stat_t, experimentalsys.Errno) {
	r := h(FileOp{Name: "stat", Path: p})
	return r.Stat, r.Errno
}

// Mkdir makes a folder.
func (h FileHandler) Mkdir(p string, perm fs.FileMode) experimentalsys.Errno {
	return h(FileOp{Name: "mkdir", Path: p, Perm: perm}).Errno
}

// Chmod changes the mode of a file.
func (h FileHandler) Chmod(p string, perm fs.FileMode) experimentalsys.Errno {
	return h(FileOp{Name: "chmod", Path: p, Perm: perm}).Errno
}

// Rename moves a file.
func (h FileHandler) Rename(from, to string) experimentalsys.Errno {
	return h(FileOp{Name: "rename", Path: from, To: to}).Errno
}

// Rmdir removes an empty folder.
func (h FileHandler) Rmdir(p string) experimentalsys.Errno {
	return h(FileOp{Name: "rmdir", Path: p}).Errno
}

// Unlink removes a file.
func (h FileHandler) Unlink(p string) experimentalsys.Errno {
	return h(FileOp{Name: "unlink", Path: p}).Errno
}

// Link makes a hard link.
func (h FileHandler) Link(from, to string) experimentalsys.Errno {
	return h(FileOp{Name: "link", Path: from, To: to}).Errno
}

// Symlink makes a symbolic link.
func (h FileHandler) Symlink(target, link string) experimentalsys.Errno {
	return h(FileOp{Name: "symlink", Path: link, Target: target}).Errno
}

// Readlink returns the target of a symbolic link.
func (h FileHandler) Readlink(p string) (string, experimentalsys.Errno) {
	r := h(FileOp{Name: "readlink", Path: p})
	return r.Text, r.Errno
}

// Utimens sets the times of a file.
func (h FileHandler) Utimens(p string, atime, mtime int64) experimentalsys.Errno {
	return h(FileOp{Name: "utimens", Path: p, Atime: atime, Mtime: mtime}).Errno
}

// inScratch reports whether an operation stays in the scratch folder, which a
// replay has too.
func (op FileOp) inScratch() bool {
	return scratch(op.Path) && (op.To == "" || scratch(op.To))
}

func scratch(p string) bool {
	p = path.Clean("/" + p)
	return p == "/tmp" || strings.HasPrefix(p, "/tmp/")
}

// maxPath bounds a path in a record.
const maxPath = 4 << 10

func clipPath(p string) string { return text.Clip(p, maxPath) }

// statFields lists a status in the order of the audit.
func statFields(s sys.Stat_t) []int64 {
	return []int64{int64(s.Dev), int64(s.Ino), int64(s.Mode), int64(s.Nlink), s.Size, s.Atim, s.Mtim, s.Ctim}
}

func statOf(v []int64) sys.Stat_t {
	if len(v) != 8 {
		return sys.Stat_t{}
	}
	return sys.Stat_t{Dev: uint64(v[0]), Ino: uint64(v[1]), Mode: fs.FileMode(v[2]), Nlink: uint64(v[3]),
		Size: v[4], Atim: v[5], Mtim: v[6], Ctim: v[7]}
}
