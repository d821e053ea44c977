package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/workspace"
)

// Never returns what [workspace.Options] keeps out of reach in a folder: the protected
// files and folders, absolute paths of the host, and what the kernel shows as files. It
// fails if the folder itself is out of reach.
func Never(folder string, protect ...string) (func(name string, info fs.FileInfo) bool, error) {
	never := &protected{paths: protect}
	real := realPath(folder)
	if never.above(real) {
		return nil, fault.New(fault.UsageWorkspace, "the folder %s is protected", folder).WithHint("choose a folder that has no files of wexec")
	}
	return func(name string, info fs.FileInfo) bool {
		return info != nil && never.has(info) || never.covers(path.Join(real, name))
	}, nil
}

// Layer is a workspace as the file system of a run. The gate decides each access, by the
// path in the folder of the workspace, and links are resolved before. Its operations
// are those of [sys.FS] on paths below the workspace.
type Layer struct {
	sys.UnimplementedFS
	w    *workspace.Workspace
	base string
	gate hostfns.Gate
}

// NewLayer returns a workspace as a file system.
func NewLayer(w *workspace.Workspace, gate hostfns.Gate) *Layer {
	return &Layer{w: w, base: w.Info().Base, gate: gate}
}

// Decide asks the gate about a path of the workspace without links. With look only its
// existence is asked for, which is not recorded.
func (l *Layer) Decide(ctx context.Context, name string, folder, write, look bool) error {
	return l.gate.File(ctx, hostfns.FileRequest{
		Path: filepath.Join(l.base, filepath.FromSlash(name)), Guest: path.Join("/"+workspaceName, name), Write: write, Folder: folder, Look: look, Workspace: true,
	})
}

// find resolves the links of a path and describes what is there; info is nil if
// nothing is.
func (l *Layer) find(name string, follow bool) (where string, info fs.FileInfo, errno sys.Errno) {
	where, info, err := l.w.Resolve(name, follow)
	return where, info, layerErrno(err)
}

// may asks the gate.
func (l *Layer) may(where string, info fs.FileInfo, write, look bool) sys.Errno {
	if l.Decide(l.gate.Lifetime(), where, info != nil && info.IsDir(), write, look) != nil {
		return sys.EACCES
	}
	return 0
}

// OpenFile implements [sys.FS].
func (l *Layer) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	where, info, errno := l.find(name, flag&sys.O_NOFOLLOW == 0)
	if errno != 0 {
		return nil, errno
	}
	write := flag&writing&^sys.O_CREAT != 0 || flag&sys.O_CREAT != 0 && info == nil
	folder := info != nil && info.IsDir()
	switch {
	case info == nil && flag&sys.O_CREAT == 0:
		return nil, sys.ENOENT
	case info == nil && flag&sys.O_DIRECTORY != 0:
		return nil, sys.EINVAL
	case info != nil && flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL:
		return nil, sys.EEXIST
	case folder && write:
		return nil, sys.EISDIR
	case info != nil && info.Mode()&fs.ModeSymlink != 0:
		return nil, sys.ELOOP
	case info != nil && !folder && flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	}
	if reads := flag&sys.O_WRONLY == 0; !write || reads && info != nil && flag&sys.O_TRUNC == 0 {
		if errno := l.may(where, info, false, false); errno != 0 {
			return nil, errno
		}
	}
	if folder {
		return l.list(where, info)
	}
	if !write {
		return l.opened(where, info, os.O_RDONLY, perm)
	}
	if errno := l.may(where, info, true, false); errno != 0 {
		return nil, errno
	}
	if info != nil && flag&sys.O_TRUNC == 0 { // it is copied into the layer
		if errno := count(l.gate, int(info.Size()), 0); errno != 0 {
			return nil, errno
		}
	}
	how := os.O_RDWR
	for bit, of := range map[sys.Oflag]int{sys.O_CREAT: os.O_CREATE, sys.O_TRUNC: os.O_TRUNC, sys.O_APPEND: os.O_APPEND} {
		if flag&bit != 0 {
			how |= of
		}
	}
	return l.opened(where, info, how, perm)
}

func (l *Layer) opened(where string, info fs.FileInfo, flag int, perm fs.FileMode) (sys.File, sys.Errno) {
	f, err := l.w.Open(where, flag, perm)
	if err != nil {
		return nil, layerErrno(err)
	}
	if info == nil {
		if _, info, err = l.w.Resolve(where, false); err != nil || info == nil {
			_ = f.Close()
			return nil, sys.EIO
		}
	}
	o := &layerFile{l: l, f: f, name: where, mode: info.Mode(), appends: flag&os.O_APPEND != 0}
	o.File = seeking(f.Seek).file()
	return o, 0
}

// list opens a folder for reading its names.
func (l *Layer) list(where string, info fs.FileInfo) (sys.File, sys.Errno) {
	names, err := l.w.ReadDir(where)
	if err != nil {
		return nil, layerErrno(err)
	}
	entries, size := make([]sys.Dirent, len(names)), 0
	for i, e := range names {
		size += len(e.Name())
		entries[i] = sys.Dirent{Name: e.Name(), Type: e.Mode().Type(), Ino: inode(path.Join(l.base, where, e.Name()))}
	}
	if errno := count(l.gate, size, 0); errno != 0 {
		return nil, errno
	}
	return newFolder(entries, l.stat(where, info)), 0
}

func (l *Layer) stat(where string, info fs.FileInfo) stat.Stat_t {
	st := stat.NewStat_t(info)
	st.Ino = inode(path.Join(l.base, where))
	return st
}

// Stat implements [sys.FS].
func (l *Layer) Stat(name string) (stat.Stat_t, sys.Errno) { return l.look(name, true) }

// Lstat implements [sys.FS].
func (l *Layer) Lstat(name string) (stat.Stat_t, sys.Errno) { return l.look(name, false) }

func (l *Layer) look(name string, follow bool) (stat.Stat_t, sys.Errno) {
	where, info, errno := l.find(name, follow)
	if errno != 0 {
		return stat.Stat_t{}, errno
	}
	if errno := l.may(where, info, false, true); errno != 0 {
		return stat.Stat_t{}, errno
	}
	if info == nil {
		return stat.Stat_t{}, sys.ENOENT
	}
	return l.stat(where, info), 0
}

// Readlink implements [sys.FS]. A link that leads out has a target, and cannot be followed.
func (l *Layer) Readlink(name string) (string, sys.Errno) {
	where, info, errno := l.find(name, false)
	if errno != 0 {
		return "", errno
	}
	if errno := l.may(where, info, false, true); errno != 0 {
		return "", errno
	}
	target, err := l.w.ReadLink(where)
	return target, layerErrno(err)
}

// change makes a change of one path that the gate allows.
func (l *Layer) change(name string, follow bool, make func(where string, info fs.FileInfo) error) sys.Errno {
	where, info, errno := l.find(name, follow)
	if errno != 0 {
		return errno
	}
	if errno := l.may(where, info, true, false); errno != 0 {
		return errno
	}
	return layerErrno(make(where, info))
}

// Mkdir implements [sys.FS].
func (l *Layer) Mkdir(name string, perm fs.FileMode) sys.Errno {
	if _, info, errno := l.find(name, false); errno == 0 && info != nil {
		return sys.EEXIST
	}
	return l.change(name, false, func(where string, _ fs.FileInfo) error { return l.w.Mkdir(where, perm) })
}

// Rmdir implements [sys.FS].
func (l *Layer) Rmdir(name string) sys.Errno { return l.remove(name, true) }

// Unlink implements [sys.FS].
func (l *Layer) Unlink(name string) sys.Errno { return l.remove(name, false) }

func (l *Layer) remove(name string, folder bool) sys.Errno {
	return l.change(name, false, func(where string, info fs.FileInfo) error {
		switch {
		case info == nil:
			return sys.ENOENT
		case info.IsDir() && !folder:
			return sys.EISDIR
		case !info.IsDir() && folder:
			return sys.ENOTDIR
		}
		return l.w.Remove(where)
	})
}

// Rename implements [sys.FS]. What is in a folder that moves is decided at its old path
// and at its new one.
func (l *Layer) Rename(from, to string) sys.Errno {
	source, info, errno := l.find(from, false)
	if errno != 0 {
		return errno
	}
	target, there, errno := l.find(to, false)
	if errno != 0 {
		return errno
	}
	for _, errno := range []sys.Errno{l.may(source, info, false, false), l.may(source, info, true, false), l.may(target, there, true, false)} {
		if errno != 0 {
			return errno
		}
	}
	return layerErrno(l.w.Rename(source, target, func(from, to string, folder bool) error {
		if errno := count(l.gate, len(from), 0); errno != 0 {
			return errno
		}
		return errors.Join(l.Decide(l.gate.Lifetime(), from, folder, false, true), l.Decide(l.gate.Lifetime(), from, folder, true, true),
			l.Decide(l.gate.Lifetime(), to, folder, true, true))
	}))
}

// Chmod implements [sys.FS].
func (l *Layer) Chmod(name string, perm fs.FileMode) sys.Errno {
	return l.change(name, true, func(where string, _ fs.FileInfo) error { return l.w.Chmod(where, perm) })
}

// Utimens implements [sys.FS].
func (l *Layer) Utimens(name string, atim, mtim int64) sys.Errno {
	return l.change(name, true, func(where string, info fs.FileInfo) error {
		if info == nil {
			return sys.ENOENT
		}
		if info.IsDir() {
			return nil // times of folders are not kept
		}
		return l.w.Touch(where, timeOf(atim, info.ModTime()), timeOf(mtim, info.ModTime()))
	})
}

// timeOf returns a time of Utimens, or the one that it keeps.
func timeOf(ns int64, keep time.Time) time.Time {
	if ns == sys.UTIME_OMIT {
		return keep
	}
	return time.Unix(0, ns)
}

// Link fails: a link could bypass a decision.
func (l *Layer) Link(string, string) sys.Errno { return sys.EPERM }

// Symlink fails, as Link does.
func (l *Layer) Symlink(string, string) sys.Errno { return sys.EPERM }

// layerErrno returns the errno of an error of a workspace.
func layerErrno(err error) sys.Errno {
	var errno sys.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, workspace.ErrTooLarge):
		return sys.EPERM
	case errors.Is(err, workspace.ErrNotFolder):
		return sys.ENOTDIR
	case errors.Is(err, workspace.ErrIsFolder):
		return sys.EISDIR
	case errors.Is(err, workspace.ErrNotEmpty):
		return sys.ENOTEMPTY
	case errors.Is(err, workspace.ErrLoop):
		return sys.ELOOP
	case errors.Is(err, fs.ErrInvalid):
		return sys.EINVAL
	case errors.As(err, new(*hostfns.Failure)):
		return sys.EACCES
	}
	return errnoOf(err)
}

// layerFile is an open file of a workspace.
type layerFile struct {
	sys.File // Seek
	l        *Layer
	f        *workspace.File
	name     string
	mode     fs.FileMode
	appends  bool
}

func (f *layerFile) Dev() (uint64, sys.Errno)     { return 0, 0 }
func (f *layerFile) Ino() (stat.Inode, sys.Errno) { return inode(path.Join(f.l.base, f.name)), 0 }
func (f *layerFile) IsDir() (bool, sys.Errno)     { return false, 0 }
func (f *layerFile) IsAppend() bool               { return f.appends }
func (f *layerFile) SetAppend(on bool) sys.Errno  { f.appends = on; return 0 }
func (f *layerFile) Sync() sys.Errno              { return 0 }
func (f *layerFile) Datasync() sys.Errno          { return 0 }
func (f *layerFile) Close() sys.Errno             { return layerErrno(f.f.Close()) }

func (f *layerFile) Stat() (stat.Stat_t, sys.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return stat.Stat_t{}, sys.EBADF
	}
	st := f.l.stat(f.name, info)
	st.Mode = f.mode
	return st, 0
}

func (f *layerFile) Read(b []byte) (int, sys.Errno) { return f.got(f.f.Read(b)) }

func (f *layerFile) Pread(b []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	return f.got(f.f.ReadAt(b, off))
}

func (f *layerFile) got(n int, err error) (int, sys.Errno) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, count(f.l.gate, n, errnoOf(err))
}

func (f *layerFile) Write(b []byte) (int, sys.Errno) {
	whence := io.SeekCurrent
	if f.appends {
		whence = io.SeekEnd
	}
	at, err := f.f.Seek(0, whence)
	if err != nil {
		return 0, errnoOf(err)
	}
	n, errno := f.Pwrite(b, at)
	if n > 0 {
		_, err = f.f.Seek(at+int64(n), io.SeekStart)
	}
	if errno == 0 {
		errno = errnoOf(err)
	}
	return n, errno
}

func (f *layerFile) Pwrite(b []byte, off int64) (int, sys.Errno) {
	if errno := f.grow(off); errno != 0 {
		return 0, errno
	}
	if errno := count(f.l.gate, len(b), 0); errno != 0 {
		return 0, errno
	}
	n, err := f.f.WriteAt(b, off)
	return n, layerErrno(err)
}

func (f *layerFile) Truncate(size int64) sys.Errno {
	if errno := f.grow(size); errno != 0 {
		return errno
	}
	return layerErrno(f.f.Truncate(size))
}

// grow counts the hole before a write or a truncation: a sparse file counts as much as a
// full one.
func (f *layerFile) grow(to int64) sys.Errno {
	info, err := f.f.Stat()
	switch {
	case err != nil:
		return sys.EBADF
	case to < 0:
		return sys.EINVAL
	case to > workspace.MaxFile:
		return sys.EPERM
	}
	return count(f.l.gate, int(max(to-info.Size(), 0)), 0)
}

func (f *layerFile) Utimens(atim, mtim int64) sys.Errno { return f.l.Utimens(f.name, atim, mtim) }
