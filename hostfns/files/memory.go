package files

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/hostfns"
)

// memory is /tmp: a folder in memory with a bounded size that is
// dropped after the run.
type memory struct {
	sys.UnimplementedFS
	gate hostfns.Gate
	now  func() time.Time

	mu    sync.Mutex
	root  *memNode
	left  int64
	last  uint64
	ended bool
}

// nodeCost is the cost of a file or folder in addition to its content.
const nodeCost = 512

type memNode struct {
	ino      uint64
	children map[string]*memNode // of a folder
	data     []byte
	accessed int64 // when it was made, or what a program set: reading changes nothing
	modified int64
	opens    int  // number of open files
	gone     bool // removed: its bytes are freed when the last open file is closed
}

func newMemory(limit int64, gate hostfns.Gate, now func() time.Time) *memory {
	if now == nil {
		now = time.Now
	}
	m := &memory{gate: gate, left: limit, now: now}
	m.root = m.node(true)
	return m
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.root = &memNode{children: map[string]*memNode{}}
}

func (m *memory) node(dir bool) *memNode {
	m.last++
	now := m.now().UnixNano()
	n := &memNode{ino: m.last, accessed: now, modified: now}
	if dir {
		n.children = map[string]*memNode{}
	}
	return n
}

// take reserves n bytes, or frees them if n is negative. The
// lock is held.
func (m *memory) take(n int64) sys.Errno {
	if m.ended || n > m.left {
		return sys.EIO
	}
	m.left -= n
	return 0
}

// lookup finds a node and its folder; the lock is held. A missing
// last name is a nil node.
func (m *memory) lookup(rel string) (parent *memNode, name string, n *memNode, errno sys.Errno) {
	n = m.root
	if rel == "." {
		return nil, ".", n, 0
	}
	for part := range strings.SplitSeq(rel, "/") {
		if n == nil {
			return nil, "", nil, sys.ENOENT
		}
		if n.children == nil {
			return nil, "", nil, sys.ENOTDIR
		}
		parent, name = n, part
		n = n.children[part]
	}
	return parent, name, n, 0
}

func (m *memory) OpenFile(rel string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, name, n, errno := m.lookup(rel)
	if errno != 0 {
		return nil, errno
	}
	switch {
	case n == nil && flag&sys.O_CREAT == 0:
		return nil, sys.ENOENT
	case n == nil:
		if flag&sys.O_DIRECTORY != 0 {
			return nil, sys.EINVAL
		}
		if errno := m.take(nodeCost + int64(len(name))); errno != 0 {
			return nil, errno
		}
		n = m.node(false)
		parent.children[name] = n
		parent.modified = n.modified
	case flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL:
		return nil, sys.EEXIST
	case n.children != nil:
		if flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_TRUNC|sys.O_APPEND) != 0 {
			return nil, sys.EISDIR
		}
		return m.open(n), 0
	case flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	case flag&sys.O_TRUNC != 0:
		_ = m.resize(n, 0) // shrinking cannot fail
	}
	n.opens++
	f := &memFile{m: m, n: n, reads: flag&sys.O_WRONLY == 0, writes: flag&(sys.O_RDWR|sys.O_WRONLY) != 0, appends: flag&sys.O_APPEND != 0}
	f.File = seeking(f.seek).file()
	return f, 0
}

// open lists a folder; the lock is held.
func (m *memory) open(n *memNode) sys.File {
	entries := make([]sys.Dirent, 0, len(n.children))
	for name, c := range n.children {
		e := sys.Dirent{Name: name, Ino: c.ino}
		if c.children != nil {
			e.Type = fs.ModeDir
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b sys.Dirent) int { return cmp.Compare(a.Name, b.Name) })
	return newFolder(entries, n.stat())
}

// resize truncates or extends with zeros; the lock is held.
func (m *memory) resize(n *memNode, size int64) sys.Errno {
	if size < 0 {
		return sys.EINVAL
	}
	if errno := m.take(size - int64(len(n.data))); errno != 0 {
		return errno
	}
	switch old := int64(len(n.data)); {
	case size > old:
		n.data = slices.Grow(n.data, int(size-old))[:size]
	case size < int64(cap(n.data))/2: // memory that is no longer counted must be freed
		n.data = slices.Clip(slices.Clone(n.data[:size]))
	default:
		clear(n.data[size:])
		n.data = n.data[:size]
	}
	n.modified = m.now().UnixNano()
	return 0
}

func (n *memNode) stat() stat.Stat_t {
	s := stat.Stat_t{Dev: 1, Ino: n.ino, Mode: 0o600, Nlink: 1, Size: int64(len(n.data)), Atim: n.accessed, Mtim: n.modified, Ctim: n.modified}
	if n.children != nil {
		s.Mode, s.Size = fs.ModeDir|0o700, 0
	}
	return s
}

func (m *memory) Stat(rel string) (stat.Stat_t, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, errno := m.lookup(rel)
	if errno != 0 {
		return stat.Stat_t{}, errno
	}
	if n == nil {
		return stat.Stat_t{}, sys.ENOENT
	}
	return n.stat(), 0
}

func (m *memory) Mkdir(rel string, _ fs.FileMode) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, name, n, errno := m.lookup(rel)
	switch {
	case errno != 0:
		return errno
	case n != nil:
		return sys.EEXIST
	}
	if errno := m.take(nodeCost + int64(len(name))); errno != 0 {
		return errno
	}
	parent.children[name] = m.node(true)
	return 0
}

func (m *memory) Lstat(rel string) (stat.Stat_t, sys.Errno) { return m.Stat(rel) }
func (m *memory) Rmdir(rel string) sys.Errno                { return m.remove(rel, true) }
func (m *memory) Unlink(rel string) sys.Errno               { return m.remove(rel, false) }

// Chmod does nothing.
func (m *memory) Chmod(rel string, _ fs.FileMode) sys.Errno {
	_, errno := m.Stat(rel)
	return errno
}

func (m *memory) Readlink(rel string) (string, sys.Errno) {
	if _, errno := m.Stat(rel); errno != 0 {
		return "", errno
	}
	return "", sys.EINVAL
}

func (m *memory) remove(rel string, dir bool) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, name, n, errno := m.lookup(rel)
	switch {
	case errno != 0:
		return errno
	case n == nil:
		return sys.ENOENT
	case parent == nil:
		return sys.EPERM
	case dir && n.children == nil:
		return sys.ENOTDIR
	case !dir && n.children != nil:
		return sys.EISDIR
	case dir && len(n.children) > 0:
		return sys.ENOTEMPTY
	}
	delete(parent.children, name)
	m.left += nodeCost + int64(len(name))
	m.forget(n)
	return 0
}

// forget frees the bytes of a removed node as soon as
// no file is open; the lock is held.
func (m *memory) forget(n *memNode) {
	n.gone = true
	if n.opens == 0 {
		m.left += int64(len(n.data))
		n.data = nil
	}
}

func (m *memory) Rename(from, to string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	fp, fname, n, errno := m.lookup(from)
	if errno != 0 {
		return errno
	}
	tp, tname, old, errno := m.lookup(to)
	switch {
	case errno != 0:
		return errno
	case n == nil:
		return sys.ENOENT
	case fp == nil || tp == nil:
		return sys.EPERM
	case n == old:
		return 0
	case strings.HasPrefix(path.Clean(to)+"/", path.Clean(from)+"/"):
		return sys.EINVAL // a folder into itself
	case old != nil && n.children != nil && old.children == nil:
		return sys.ENOTDIR
	case old != nil && n.children == nil && old.children != nil:
		return sys.EISDIR
	case old != nil && len(old.children) > 0:
		return sys.ENOTEMPTY
	}
	if old != nil {
		m.left += nodeCost + int64(len(tname))
		m.forget(old)
	}
	if grow := int64(len(tname) - len(fname)); m.take(grow) != 0 {
		return sys.EIO
	}
	delete(fp.children, fname)
	tp.children[tname] = n
	return 0
}

func (m *memory) Utimens(rel string, atim, mtim int64) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, errno := m.lookup(rel)
	if errno != 0 {
		return errno
	}
	if n == nil {
		return sys.ENOENT
	}
	n.touch(atim, mtim)
	return 0
}

// touch sets the times that the program does not leave as they are.
func (n *memNode) touch(atim, mtim int64) {
	if atim != sys.UTIME_OMIT {
		n.accessed = atim
	}
	if mtim != sys.UTIME_OMIT {
		n.modified = mtim
	}
}

// memFile is an open file of /tmp.
type memFile struct {
	sys.File               // Seek
	m                      *memory
	n                      *memNode
	reads, writes, appends bool
	at                     int64
	closed                 bool
}

func (f *memFile) Dev() (uint64, sys.Errno)     { return 1, 0 }
func (f *memFile) Ino() (stat.Inode, sys.Errno) { return f.n.ino, 0 }
func (f *memFile) IsDir() (bool, sys.Errno)     { return false, 0 }
func (f *memFile) IsAppend() bool               { return f.appends }
func (f *memFile) SetAppend(on bool) sys.Errno  { f.appends = on; return 0 }
func (f *memFile) Sync() sys.Errno              { return 0 }
func (f *memFile) Datasync() sys.Errno          { return 0 }

func (f *memFile) Stat() (stat.Stat_t, sys.Errno) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.stat(), 0
}

func (f *memFile) Read(b []byte) (int, sys.Errno) {
	n, errno := f.Pread(b, f.at)
	f.at += int64(n)
	return n, errno
}

func (f *memFile) Pread(b []byte, off int64) (int, sys.Errno) {
	switch {
	case f.closed || !f.reads:
		return 0, sys.EBADF
	case off < 0:
		return 0, sys.EINVAL
	}
	f.m.mu.Lock()
	n := 0
	if off < int64(len(f.n.data)) {
		n = copy(b, f.n.data[off:])
	}
	f.m.mu.Unlock()
	return n, count(f.m.gate, n, 0)
}

func (f *memFile) Write(b []byte) (int, sys.Errno) {
	if f.appends {
		f.m.mu.Lock()
		f.at = int64(len(f.n.data))
		f.m.mu.Unlock()
	}
	n, errno := f.Pwrite(b, f.at)
	f.at += int64(n)
	return n, errno
}

func (f *memFile) Pwrite(b []byte, off int64) (int, sys.Errno) {
	switch {
	case f.closed || !f.writes:
		return 0, sys.EBADF
	case off < 0 || off > 1<<40:
		return 0, sys.EINVAL
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if errno := f.grow(off); errno != 0 {
		return 0, errno
	}
	if end := off + int64(len(b)); end > int64(len(f.n.data)) {
		if errno := f.m.resize(f.n, end); errno != 0 {
			return 0, errno
		}
	}
	n := copy(f.n.data[off:], b)
	f.n.modified = f.m.now().UnixNano()
	return n, count(f.m.gate, n, 0)
}

// grow extends the file to size with zeros, which count like bytes that are
// written. The lock is held.
func (f *memFile) grow(size int64) sys.Errno {
	hole := size - int64(len(f.n.data))
	if hole <= 0 {
		return 0
	}
	if errno := f.m.resize(f.n, size); errno != 0 {
		return errno
	}
	return count(f.m.gate, int(hole), 0)
}

func (f *memFile) seek(offset int64, whence int) (int64, error) {
	if f.closed {
		return 0, sys.EBADF
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		f.m.mu.Lock()
		offset += int64(len(f.n.data))
		f.m.mu.Unlock()
	}
	if offset < 0 {
		return 0, sys.EINVAL
	}
	f.at = offset
	return offset, nil
}

func (f *memFile) Truncate(size int64) sys.Errno {
	if f.closed || !f.writes {
		return sys.EBADF
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if size > int64(len(f.n.data)) {
		return f.grow(size)
	}
	return f.m.resize(f.n, size)
}

func (f *memFile) Utimens(atim, mtim int64) sys.Errno {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.touch(atim, mtim)
	return 0
}

func (f *memFile) Close() sys.Errno {
	if f.closed {
		return 0
	}
	f.closed = true
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.n.opens--; f.n.gone {
		f.m.forget(f.n)
	}
	return 0
}
