package world

import (
	"io"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/audit"
)

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
