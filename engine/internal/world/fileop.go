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

type errno = experimentalsys.Errno

// FileResult is the outcome of a FileOp. Which field is set depends on the
// operation.
type FileResult struct {
	File  experimentalsys.File
	Stat  sys.Stat_t
	Text  string // target of a link
	Errno errno
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

// fileHandler is a file system made of one function. It is a pointer because
// wazero compares file systems.
type fileHandler struct{ do func(FileOp) FileResult }

// FileHandler returns the file system whose operations do does.
func FileHandler(do func(FileOp) FileResult) experimentalsys.FS { return &fileHandler{do} }

func (h *fileHandler) OpenFile(p string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, errno) {
	r := h.do(FileOp{Name: "open", Path: p, Flag: flag, Perm: perm})
	return r.File, r.Errno
}

func (h *fileHandler) Lstat(p string) (sys.Stat_t, errno) {
	r := h.do(FileOp{Name: "lstat", Path: p})
	return r.Stat, r.Errno
}

func (h *fileHandler) Stat(p string) (sys.Stat_t, errno) {
	r := h.do(FileOp{Name: "stat", Path: p})
	return r.Stat, r.Errno
}

func (h *fileHandler) Readlink(p string) (string, errno) {
	r := h.do(FileOp{Name: "readlink", Path: p})
	return r.Text, r.Errno
}

func (h *fileHandler) Mkdir(p string, perm fs.FileMode) errno {
	return h.do(FileOp{Name: "mkdir", Path: p, Perm: perm}).Errno
}
func (h *fileHandler) Chmod(p string, perm fs.FileMode) errno {
	return h.do(FileOp{Name: "chmod", Path: p, Perm: perm}).Errno
}
func (h *fileHandler) Rename(from, to string) errno {
	return h.do(FileOp{Name: "rename", Path: from, To: to}).Errno
}
func (h *fileHandler) Link(from, to string) errno {
	return h.do(FileOp{Name: "link", Path: from, To: to}).Errno
}
func (h *fileHandler) Rmdir(p string) errno  { return h.do(FileOp{Name: "rmdir", Path: p}).Errno }
func (h *fileHandler) Unlink(p string) errno { return h.do(FileOp{Name: "unlink", Path: p}).Errno }
func (h *fileHandler) Symlink(target, link string) errno {
	return h.do(FileOp{Name: "symlink", Path: link, Target: target}).Errno
}
func (h *fileHandler) Utimens(p string, atime, mtime int64) errno {
	return h.do(FileOp{Name: "utimens", Path: p, Atime: atime, Mtime: mtime}).Errno
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
