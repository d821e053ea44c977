package files

import (
	"hash/fnv"
	"io"
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/hostfns"
)

// folder is an open folder, with its names at the time of opening.
type folder struct {
	sys.File // Seek
	entries  []sys.Dirent
	at       int
	info     stat.Stat_t
}

func newFolder(entries []sys.Dirent, info stat.Stat_t) *folder {
	f := &folder{entries: entries, info: info}
	f.File = seeking(f.rewind).file()
	return f
}

func (f *folder) Dev() (uint64, sys.Errno)              { return f.info.Dev, 0 }
func (f *folder) Ino() (stat.Inode, sys.Errno)          { return f.info.Ino, 0 }
func (f *folder) Stat() (stat.Stat_t, sys.Errno)        { return f.info, 0 }
func (f *folder) IsDir() (bool, sys.Errno)              { return true, 0 }
func (f *folder) IsAppend() bool                        { return false }
func (f *folder) SetAppend(bool) sys.Errno              { return sys.EISDIR }
func (f *folder) Read([]byte) (int, sys.Errno)          { return 0, sys.EISDIR }
func (f *folder) Pread([]byte, int64) (int, sys.Errno)  { return 0, sys.EISDIR }
func (f *folder) Write([]byte) (int, sys.Errno)         { return 0, sys.EISDIR }
func (f *folder) Pwrite([]byte, int64) (int, sys.Errno) { return 0, sys.EISDIR }
func (f *folder) Truncate(int64) sys.Errno              { return sys.EISDIR }
func (f *folder) Sync() sys.Errno                       { return 0 }
func (f *folder) Datasync() sys.Errno                   { return 0 }
func (f *folder) Utimens(int64, int64) sys.Errno        { return sys.EROFS }
func (f *folder) Close() sys.Errno                      { return 0 }

// rewind returns to the first name.
func (f *folder) rewind(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	f.at = 0
	return 0, nil
}

// seeking is a seek function. go vet rejects a method Seek that returns
// an errno, so that of an adapted file is embedded instead.
type seeking func(offset int64, whence int) (int64, error)

func (s seeking) Seek(offset int64, whence int) (int64, error) { return s(offset, whence) }
func (s seeking) Open(string) (fs.File, error)                 { return s, nil }
func (s seeking) Stat() (fs.FileInfo, error)                   { return nil, fs.ErrInvalid }
func (s seeking) Read([]byte) (int, error)                     { return 0, fs.ErrInvalid }
func (s seeking) Close() error                                 { return nil }

func (s seeking) file() sys.File {
	f, errno := (&sysfs.AdaptFS{FS: s}).OpenFile("f", sys.O_RDONLY, 0)
	if errno != 0 {
		return sys.UnimplementedFile{}
	}
	return f
}

func (f *folder) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	rest := f.entries[f.at:]
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	f.at += len(rest)
	return rest, 0
}

func folderStat(name string) stat.Stat_t {
	return stat.Stat_t{Ino: inode(name), Mode: fs.ModeDir | 0o555, Nlink: 1}
}

// inode derives an inode number from a name.
func inode(name string) stat.Inode {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64() | 1
}

// counted counts the bytes that are read from a file.
type counted struct {
	sys.File
	gate hostfns.Gate
}

func (f *counted) Read(b []byte) (int, sys.Errno) {
	n, errno := f.File.Read(b)
	return n, count(f.gate, n, errno)
}

func (f *counted) Pread(b []byte, off int64) (int, sys.Errno) {
	n, errno := f.File.Pread(b, off)
	return n, count(f.gate, n, errno)
}

func (f *counted) Write([]byte) (int, sys.Errno)         { return 0, sys.EBADF }
func (f *counted) Pwrite([]byte, int64) (int, sys.Errno) { return 0, sys.EBADF }
func (f *counted) Truncate(int64) sys.Errno              { return sys.EBADF }

// count adds bytes to the run's budget. If that is used up the run ends; the
// guest sees an error in the meantime.
func count(gate hostfns.Gate, n int, errno sys.Errno) sys.Errno {
	if gate != nil && n > 0 {
		if err := gate.Count(int64(n)); err != nil {
			return sys.EIO
		}
	}
	return errno
}
