package files

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	stat "github.com/tetratelabs/wazero/sys"
)

// hostFile is an open file of the host. A written file replaces the original
// when the guest closes it, and is removed if the run ends before.
type hostFile struct {
	sys.File // Seek
	h        *host
	f        *os.File
	parent   *os.Root // folder of a written file
	temp     string
	name     string
	reads    bool
	writes   bool
	appends  bool
	changed  bool

	once sync.Once
}

func newHostFile(h *host, f *os.File) *hostFile {
	return &hostFile{File: seeking(f.Seek).file(), h: h, f: f, reads: true}
}

func (f *hostFile) Dev() (uint64, sys.Errno) {
	s, errno := f.Stat()
	return s.Dev, errno
}

func (f *hostFile) Ino() (stat.Inode, sys.Errno) {
	s, errno := f.Stat()
	return s.Ino, errno
}

func (f *hostFile) IsDir() (bool, sys.Errno)    { return false, 0 }
func (f *hostFile) IsAppend() bool              { return f.appends }
func (f *hostFile) SetAppend(on bool) sys.Errno { f.appends = on; return 0 }

func (f *hostFile) Stat() (stat.Stat_t, sys.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return stat.Stat_t{}, sys.EBADF
	}
	return statOf(info), 0
}

func (f *hostFile) Read(b []byte) (int, sys.Errno) {
	if !f.reads {
		return 0, sys.EBADF
	}
	n, err := f.f.Read(b)
	return f.got(n, err)
}

func (f *hostFile) Pread(b []byte, off int64) (int, sys.Errno) {
	if !f.reads {
		return 0, sys.EBADF
	}
	if off < 0 {
		return 0, sys.EINVAL
	}
	n, err := f.f.ReadAt(b, off)
	return f.got(n, err)
}

func (f *hostFile) got(n int, err error) (int, sys.Errno) {
	if err == io.EOF {
		err = nil
	}
	return n, count(f.h.gate, n, errnoOf(err))
}

func (f *hostFile) Write(b []byte) (int, sys.Errno) {
	if !f.writes {
		return 0, sys.EBADF
	}
	whence := io.SeekCurrent
	if f.appends {
		whence = io.SeekEnd
	}
	at, err := f.f.Seek(0, whence)
	if err != nil {
		return 0, errnoOf(err)
	}
	if errno := f.grow(at); errno != 0 { // after a seek past the end
		return 0, errno
	}
	if errno := count(f.h.gate, len(b), 0); errno != 0 {
		return 0, errno
	}
	f.changed = true
	n, err := f.f.Write(b)
	return n, errnoOf(err)
}

func (f *hostFile) Pwrite(b []byte, off int64) (int, sys.Errno) {
	switch {
	case !f.writes:
		return 0, sys.EBADF
	case off < 0:
		return 0, sys.EINVAL
	}
	if errno := f.grow(off); errno != 0 {
		return 0, errno
	}
	if errno := count(f.h.gate, len(b), 0); errno != 0 {
		return 0, errno
	}
	f.changed = true
	n, err := f.f.WriteAt(b, off)
	return n, errnoOf(err)
}

// grow counts the hole of a write at size, or of a truncation to it: a
// sparse file counts as much as a full one.
func (f *hostFile) grow(size int64) sys.Errno {
	info, err := f.f.Stat()
	if err != nil {
		return sys.EBADF
	}
	if hole := size - info.Size(); hole > 0 {
		if over := f.h.gate.Count(hole); over != nil {
			return sys.EIO
		}
	}
	return 0
}

func (f *hostFile) Truncate(size int64) sys.Errno {
	switch {
	case !f.writes:
		return sys.EBADF
	case size < 0:
		return sys.EINVAL
	}
	if errno := f.grow(size); errno != 0 {
		return errno
	}
	f.changed = true
	return errnoOf(f.f.Truncate(size))
}

func (f *hostFile) Sync() sys.Errno {
	if !f.writes {
		return 0
	}
	return errnoOf(f.f.Sync())
}

func (f *hostFile) Datasync() sys.Errno { return f.Sync() }

func (f *hostFile) Utimens(atim, mtim int64) sys.Errno {
	if !f.writes {
		return sys.EBADF
	}
	now := time.Now()
	at := func(ns int64) time.Time {
		if ns == sys.UTIME_OMIT {
			return now
		}
		return time.Unix(0, ns)
	}
	return errnoOf(f.parent.Chtimes(f.temp, at(atim), at(mtim)))
}

// Close replaces the original by a written file, unless the run is over.
func (f *hostFile) Close() sys.Errno {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return f.end(!f.h.closed && f.h.gate.Lifetime().Err() == nil && f.changed)
}

// drop removes a written file. The caller holds the host's lock, or is the only one
// with the file.
func (f *hostFile) drop() { _ = f.end(false) }

func (f *hostFile) end(keep bool) (errno sys.Errno) {
	f.once.Do(func() {
		delete(f.h.opened, f)
		err := f.f.Close()
		if f.writes {
			if err == nil && keep {
				err = f.parent.Rename(f.temp, f.name)
			}
			if err != nil || !keep {
				_ = f.parent.Remove(f.temp)
			}
			_ = f.parent.Close()
		}
		errno = errnoOf(err)
	})
	return errno
}
