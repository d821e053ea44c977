package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/hostfns"
)

func (h *host) open(p target, flag sys.Oflag) (sys.File, sys.Errno) {
	n, errno := h.walk(p, flag&sys.O_NOFOLLOW == 0)
	if errno != 0 {
		return nil, errno
	}
	defer n.done()
	write := flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_TRUNC|sys.O_APPEND) != 0 || (flag&sys.O_CREAT != 0 && n.info == nil)
	if n.info != nil && flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL {
		return nil, sys.EEXIST
	}
	reads := flag&sys.O_WRONLY == 0
	// A file opened for reading and writing may be granted for reading only; a
	// guest that also sets "create" means to write.
	if !write || (reads && n.info != nil && flag&sys.O_TRUNC == 0) {
		if errno := h.decide(n, p, false, false); errno != 0 {
			return nil, errno
		}
	}
	if write {
		if errno := h.decide(n, p, true, false); errno != 0 {
			return nil, errno
		}
	}
	switch {
	case n.info == nil && flag&sys.O_CREAT == 0:
		return nil, sys.ENOENT
	case n.info == nil && flag&sys.O_DIRECTORY != 0:
		return nil, sys.EINVAL
	case n.info != nil && n.info.IsDir():
		if write {
			return nil, sys.EISDIR
		}
		return h.list(n)
	case n.info != nil && n.info.Mode()&fs.ModeSymlink != 0:
		return nil, sys.ELOOP
	case n.info != nil && !n.info.Mode().IsRegular():
		return nil, sys.EACCES // devices, pipes and sockets
	case flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	case write:
		return h.write(n, flag)
	}
	f, errno := openSame(n)
	if errno != 0 {
		return nil, errno
	}
	return h.keep(newHostFile(h, f))
}

// openSame opens a regular file and checks that it is the one that Lstat
// saw.
func openSame(n *node) (*os.File, sys.Errno) {
	f, err := n.parent.OpenFile(n.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, errnoOf(err)
	}
	got, err := f.Stat()
	if err != nil || !got.Mode().IsRegular() || !os.SameFile(n.info, got) {
		_ = f.Close()
		return nil, sys.EACCES
	}
	return f, 0
}

// list opens a folder for reading its names.
func (h *host) list(n *node) (sys.File, sys.Errno) {
	at := n.parent
	if n.name != "." {
		next, errno := h.openFolder(n.parent, n.name)
		if errno != 0 {
			return nil, errno
		}
		defer next.Close()
		at = next
	}
	d, err := at.Open(".")
	if err != nil {
		return nil, errnoOf(err)
	}
	defer d.Close()
	const most = 100_000
	found, err := d.ReadDir(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errnoOf(err)
	}
	entries := make([]sys.Dirent, 0, len(found))
	for _, e := range found {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if h.app && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		entries = append(entries, sys.Dirent{Name: e.Name(), Type: e.Type().Type(), Ino: inode(n.path + "/" + e.Name())})
	}
	size := 0
	for _, e := range entries {
		size += len(e.Name)
	}
	if errno := count(h.gate, size, 0); errno != 0 {
		return nil, errno
	}
	slices.SortFunc(entries, func(a, b sys.Dirent) int { return strings.Compare(a.Name, b.Name) })
	return newFolder(entries, statOf(n.info)), 0
}

// write opens a file for writing: a temporary file in the same folder, which
// replaces the file when it is closed.
func (h *host) write(n *node, flag sys.Oflag) (sys.File, sys.Errno) {
	mode := fs.FileMode(0o644)
	var old *os.File
	if n.info != nil {
		mode = n.info.Mode().Perm()
		var errno sys.Errno
		if old, errno = openSame(n); errno != 0 && flag&sys.O_TRUNC == 0 {
			return nil, errno
		}
	}
	if old != nil {
		defer old.Close()
	}
	parent, err := n.parent.OpenRoot(".")
	if err != nil {
		return nil, errnoOf(err)
	}
	temp := tempPrefix + rand.Text()[:16]
	f, err := parent.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		_ = parent.Close()
		return nil, errnoOf(err)
	}
	w := newHostFile(h, f)
	w.parent, w.temp, w.name, w.writes = parent, temp, n.name, true
	w.reads, w.appends = flag&sys.O_WRONLY == 0, flag&sys.O_APPEND != 0
	if old != nil && flag&sys.O_TRUNC == 0 {
		_, err := io.Copy(f, &countedReader{old, h.gate})
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			w.drop()
			return nil, sys.EIO
		}
	}
	if n.info == nil || flag&sys.O_TRUNC != 0 {
		w.changed = true
	}
	return h.keep(w)
}

type countedReader struct {
	io.Reader
	gate hostfns.Gate
}

func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		if over := r.gate.Count(int64(n)); over != nil {
			return n, over
		}
	}
	return n, err
}

// maxOpen bounds the open files of one grant.
const maxOpen = 256

func (h *host) keep(f *hostFile) (sys.File, sys.Errno) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.opened) >= maxOpen {
		f.drop()
		return nil, sys.EAGAIN
	}
	if h.opened == nil {
		h.opened = map[droppable]bool{}
	}
	h.opened[f] = true
	return f, 0
}
