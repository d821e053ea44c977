package keptfiles

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/internal/journal"
)

// file is an open file or folder of a durable run.
type file struct {
	sys.File // for its Seek
	files    *files
	name     string
	flag     sys.Oflag
	perm     fs.FileMode
	writes   bool
	effect   place // of what is written
	appends  bool
	stat     stat.Stat_t // when it was opened

	real   sys.File // nil: another process opened it
	offset int64    // of the file without real
	entry  int      // of the folder without real
	past   []change // what was written without real
	lost   bool     // it cannot be opened again
}

// change is a part of a file that was written, or its new size where data is nil.
type change struct {
	at   int64
	data []byte
}

func newFile(f *files, name string, flag sys.Oflag, perm fs.FileMode) *file {
	o := &file{files: f, name: name, flag: flag, perm: perm, effect: later, appends: flag&sys.O_APPEND != 0}
	o.writes = flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_APPEND|sys.O_CREAT|sys.O_TRUNC) != 0
	if inPlace(name) {
		o.effect = now
	}
	o.File, _ = (&sysfs.AdaptFS{FS: seeker(o.seek)}).OpenFile("file", sys.O_RDONLY, 0)
	return o
}

// do is [files.do] for an operation on the open file.
func (f *file) do(op string, effect place, act func(real sys.File, e *journal.File)) journal.File {
	return f.files.do(journal.File{Op: op}, effect, nil, func(e *journal.File) {
		real := f.open()
		if real == nil {
			e.Errno = uint16(sys.EIO)
			return
		}
		act(real, e)
	})
}

// open returns the file itself. One that was opened in another process is opened again,
// with what was written to it, or nil if it has changed.
func (f *file) open() sys.File {
	if f.real != nil || f.lost {
		return f.real
	}
	f.lost = true
	r, errno := f.files.FS.OpenFile(f.name, f.flag&^sys.O_EXCL, f.perm)
	if errno != 0 {
		return nil
	}
	if !f.again(r) {
		_ = r.Close()
		return nil
	}
	f.real, f.lost, f.past = r, false, nil
	return r
}

// again brings a file to where the program left it.
func (f *file) again(r sys.File) bool {
	if f.stat.Mode.IsDir() {
		for f.entry > 0 {
			list, errno := r.Readdir(f.entry)
			if errno != 0 || len(list) == 0 {
				return false
			}
			f.entry -= len(list)
		}
		return true
	}
	st, errno := r.Stat()
	if errno != 0 || !f.writes && (st.Ino != f.stat.Ino || st.Size != f.stat.Size || st.Mtim != f.stat.Mtim) {
		return false
	}
	if f.writes && f.flag&sys.O_TRUNC == 0 && st.Size != f.stat.Size {
		if r.Truncate(f.stat.Size) != 0 {
			return false
		}
	}
	for _, c := range f.past {
		if c.data == nil {
			errno = r.Truncate(c.at)
		} else {
			_, errno = r.Pwrite(c.data, c.at)
		}
		f.files.again -= len(c.data)
		if errno != 0 {
			return false
		}
	}
	if r.IsAppend() != f.appends && r.SetAppend(f.appends) != 0 {
		return false
	}
	_, errno = r.Seek(f.offset, io.SeekStart)
	return errno == 0
}

// wrote notes what was written in another process.
func (f *file) wrote(c change) {
	if f.real != nil || f.lost {
		return
	}
	if f.files.again += len(c.data); f.files.again > maxAgain {
		f.files.again -= len(c.data)
		f.lost = true
		f.forget()
		return
	}
	if c.data != nil {
		c.data = slices.Clone(c.data)
	}
	f.past = append(f.past, c)
}

func (f *file) forget() {
	for _, c := range f.past {
		f.files.again -= len(c.data)
	}
	f.past = nil
}

func (f *file) Dev() (uint64, sys.Errno)     { return f.stat.Dev, 0 }
func (f *file) Ino() (stat.Inode, sys.Errno) { return f.stat.Ino, 0 }
func (f *file) IsDir() (bool, sys.Errno)     { return f.stat.Mode.IsDir(), 0 }
func (f *file) IsAppend() bool               { return f.appends }

func (f *file) SetAppend(on bool) sys.Errno {
	f.appends = on
	if f.real != nil {
		return f.real.SetAppend(on)
	}
	return 0
}

func (f *file) Stat() (stat.Stat_t, sys.Errno) {
	e := f.do("file.stat", nowhere, func(real sys.File, e *journal.File) {
		st, errno := real.Stat()
		e.Stat, e.Errno = fields(st), uint16(errno)
	})
	return statOf(e.Stat), sys.Errno(e.Errno)
}

func (f *file) Read(p []byte) (int, sys.Errno) {
	n, errno := f.read("file.read", p, func(real sys.File) (int, sys.Errno) { return real.Read(p) }, func() int64 { return f.offset })
	f.offset += int64(n)
	return n, errno
}

func (f *file) Pread(p []byte, off int64) (int, sys.Errno) {
	return f.read("file.pread", p, func(real sys.File) (int, sys.Errno) { return real.Pread(p, off) }, func() int64 { return off })
}

// read reads into p. Beyond the bound of a journal it keeps the digest, and going on
// reads the file again, which must not have changed.
func (f *file) read(op string, p []byte, read func(sys.File) (int, sys.Errno), at func() int64) (int, sys.Errno) {
	made := false
	e := f.do(op, nowhere, func(real sys.File, e *journal.File) {
		made = true
		n, errno := read(real)
		e.N, e.Errno = int64(n), uint16(errno)
		switch {
		case n <= 0:
		case f.writes || f.files.data+n <= maxData:
			e.Data = slices.Clone(p[:n])
			f.files.data += n
		default:
			sum := sha256.Sum256(p[:n])
			e.Digest = sum[:]
		}
	})
	n := int(e.N)
	if made || e.Errno != 0 || n == 0 {
		return n, sys.Errno(e.Errno)
	}
	if n < 0 || n > len(p) || e.Digest == nil && n != len(e.Data) {
		f.files.Differs("it reads another part of a file")
		return 0, sys.EIO
	}
	if e.Digest == nil {
		return copy(p, e.Data), 0
	}
	if real := f.open(); real != nil {
		got, errno := real.Pread(p[:n], at())
		if sum := sha256.Sum256(p[:n]); errno == 0 && got == n && slices.Equal(sum[:], e.Digest) {
			return n, 0
		}
	}
	f.files.Differs("a file that it read has changed")
	return 0, sys.EIO
}

func (f *file) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	e := f.do("file.readdir", nowhere, func(real sys.File, e *journal.File) {
		list, errno := real.Readdir(n)
		e.Errno = uint16(errno)
		for _, d := range list {
			e.Names = append(e.Names, journal.FileEntry{Name: []byte(d.Name), Ino: d.Ino, Mode: uint32(d.Type)})
		}
	})
	f.entry += len(e.Names)
	list := make([]sys.Dirent, len(e.Names))
	for i, d := range e.Names {
		list[i] = sys.Dirent{Name: string(d.Name), Ino: d.Ino, Type: fs.FileMode(d.Mode)}
	}
	return list, sys.Errno(e.Errno)
}

func (f *file) Write(p []byte) (int, sys.Errno) {
	e := f.do("file.write", f.effect, func(real sys.File, e *journal.File) {
		n, errno := real.Write(p)
		e.N, e.Errno = int64(n), uint16(errno)
		if end, errno := real.Seek(0, io.SeekCurrent); errno == 0 {
			e.At = end - int64(n)
		}
	})
	f.offset = e.At + e.N
	return f.written(p, e)
}

func (f *file) Pwrite(p []byte, off int64) (int, sys.Errno) {
	e := f.do("file.pwrite", f.effect, func(real sys.File, e *journal.File) {
		n, errno := real.Pwrite(p, off)
		e.N, e.At, e.Errno = int64(n), off, uint16(errno)
	})
	return f.written(p, e)
}

func (f *file) written(p []byte, e journal.File) (int, sys.Errno) {
	n := int(e.N)
	if n < 0 || n > len(p) {
		f.files.Differs("it writes another part of a file")
		return 0, sys.EIO
	}
	if n > 0 {
		f.wrote(change{e.At, p[:n]})
	}
	return n, sys.Errno(e.Errno)
}

func (f *file) Truncate(size int64) sys.Errno {
	e := f.do("file.truncate", f.effect, func(real sys.File, e *journal.File) { e.Errno = uint16(real.Truncate(size)) })
	if e.Errno == 0 {
		f.wrote(change{at: size})
	}
	return sys.Errno(e.Errno)
}

func (f *file) Sync() sys.Errno {
	return sys.Errno(f.do("file.sync", later, func(real sys.File, e *journal.File) { e.Errno = uint16(real.Sync()) }).Errno)
}

func (f *file) Datasync() sys.Errno { return f.Sync() }

func (f *file) Utimens(atim, mtim int64) sys.Errno {
	return sys.Errno(f.do("file.utimens", f.effect, func(real sys.File, e *journal.File) { e.Errno = uint16(real.Utimens(atim, mtim)) }).Errno)
}

// Close makes what was written last, unless another process did.
func (f *file) Close() sys.Errno {
	defer f.forget()
	if !f.writes {
		f.lost = true // it is not opened again to be closed
		if f.real == nil {
			return 0
		}
		return f.real.Close()
	}
	return sys.Errno(f.do("file.close", now, func(real sys.File, e *journal.File) { e.Errno = uint16(real.Close()) }).Errno)
}

func (f *file) seek(offset int64, whence int) (int64, error) {
	e := f.do("file.seek", later, func(real sys.File, e *journal.File) {
		at, errno := real.Seek(offset, whence)
		e.N, e.Errno = at, uint16(errno)
	})
	if e.Errno != 0 {
		return 0, sys.Errno(e.Errno)
	}
	if f.offset = e.N; offset == 0 && f.stat.Mode.IsDir() {
		f.entry = 0
	}
	return e.N, nil
}

// seeker is a file that can only seek. wazero adapts it for file, which cannot have the
// method Seek itself: go vet wants the signature of package io.
type seeker func(offset int64, whence int) (int64, error)

func (s seeker) Seek(offset int64, whence int) (int64, error) { return s(offset, whence) }
func (s seeker) Open(string) (fs.File, error)                 { return s, nil }
func (seeker) Stat() (fs.FileInfo, error)                     { return nil, fs.ErrInvalid }
func (seeker) Read([]byte) (int, error)                       { return 0, fs.ErrInvalid }
func (seeker) Close() error                                   { return nil }
