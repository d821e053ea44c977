package engine

import (
	"io"
	"io/fs"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"
)

// rooted is what a guest sees below "/": its own library at /lib, and all else
// from the run's host functions.
type rooted struct {
	library experimentalsys.FS // nil: the guest has none
	rest    experimentalsys.FS // nil: the run has no files
	look    func(path string)  // told of every path that is asked for
}

// at finds the file system of a path, and the path within it.
func (r *rooted) at(path string) (experimentalsys.FS, string) {
	clean := strings.TrimPrefix(path, "/")
	r.look(clean)
	if r.library != nil {
		if clean == "lib" {
			return r.library, "."
		}
		if rest, ok := strings.CutPrefix(clean, "lib/"); ok {
			return r.library, rest
		}
	}
	if r.rest == nil {
		return noFiles, path
	}
	return r.rest, path
}

// noFiles is what a run without files sees: an empty folder. The root must be
// there, for WASI opens it.
var noFiles experimentalsys.FS = nothing{&sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: emptyFolder{}}}}

// nothing is a file system that says it is read-only to who wants to write.
type nothing struct{ experimentalsys.FS }

func (n nothing) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	if flag&(experimentalsys.O_WRONLY|experimentalsys.O_RDWR|experimentalsys.O_CREAT|experimentalsys.O_TRUNC|experimentalsys.O_APPEND) != 0 {
		return nil, experimentalsys.EROFS
	}
	return n.FS.OpenFile(path, flag, perm)
}

// emptyFolder is a folder with nothing in it.
type emptyFolder struct{}

func (emptyFolder) Open(name string) (fs.File, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return openedEmpty{}, nil
}

type openedEmpty struct{}

func (openedEmpty) Stat() (fs.FileInfo, error) { return openedEmpty{}, nil }
func (openedEmpty) Close() error               { return nil }
func (openedEmpty) Name() string               { return "." }
func (openedEmpty) Size() int64                { return 0 }
func (openedEmpty) Mode() fs.FileMode          { return fs.ModeDir | 0o555 }
func (openedEmpty) ModTime() time.Time         { return virtualStart }
func (openedEmpty) IsDir() bool                { return true }
func (openedEmpty) Sys() any                   { return nil }

func (openedEmpty) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

func (openedEmpty) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 {
		return nil, io.EOF
	}
	return nil, nil
}

// both finds the file system of two paths, which has to be the same.
func (r *rooted) both(a, b string) (experimentalsys.FS, string, string, bool) {
	fa, pa := r.at(a)
	fb, pb := r.at(b)
	return fa, pa, pb, fa == fb
}

func (r *rooted) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	f, p := r.at(path)
	return f.OpenFile(p, flag, perm)
}

func (r *rooted) Lstat(path string) (sys.Stat_t, experimentalsys.Errno) {
	f, p := r.at(path)
	return f.Lstat(p)
}

func (r *rooted) Stat(path string) (sys.Stat_t, experimentalsys.Errno) {
	f, p := r.at(path)
	return f.Stat(p)
}

func (r *rooted) Mkdir(path string, perm fs.FileMode) experimentalsys.Errno {
	f, p := r.at(path)
	return f.Mkdir(p, perm)
}

func (r *rooted) Chmod(path string, perm fs.FileMode) experimentalsys.Errno {
	f, p := r.at(path)
	return f.Chmod(p, perm)
}

func (r *rooted) Rename(from, to string) experimentalsys.Errno {
	f, a, b, same := r.both(from, to)
	if !same {
		return experimentalsys.ENOTSUP
	}
	return f.Rename(a, b)
}

func (r *rooted) Rmdir(path string) experimentalsys.Errno {
	f, p := r.at(path)
	return f.Rmdir(p)
}

func (r *rooted) Unlink(path string) experimentalsys.Errno {
	f, p := r.at(path)
	return f.Unlink(p)
}

func (r *rooted) Link(from, to string) experimentalsys.Errno {
	f, a, b, same := r.both(from, to)
	if !same {
		return experimentalsys.ENOTSUP
	}
	return f.Link(a, b)
}

func (r *rooted) Symlink(target, link string) experimentalsys.Errno {
	f, p := r.at(link)
	return f.Symlink(target, p)
}

func (r *rooted) Readlink(path string) (string, experimentalsys.Errno) {
	f, p := r.at(path)
	return f.Readlink(p)
}

func (r *rooted) Utimens(path string, atim, mtim int64) experimentalsys.Errno {
	f, p := r.at(path)
	return f.Utimens(p, atim, mtim)
}
