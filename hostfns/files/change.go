package files

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func (h *host) mkdir(p target) sys.Errno {
	n, errno := h.walk(p, false)
	if errno != 0 {
		return errno
	}
	defer n.done()
	if n.info != nil {
		return sys.EEXIST
	}
	if errno := h.decide(n, p, true, false); errno != 0 {
		return errno
	}
	return errnoOf(n.parent.Mkdir(n.name, 0o755))
}

func (h *host) remove(p target, dir bool) sys.Errno {
	n, errno := h.walk(p, false)
	if errno != 0 {
		return errno
	}
	defer n.done()
	if errno := h.decide(n, p, true, false); errno != 0 {
		return errno
	}
	switch {
	case n.info == nil:
		return sys.ENOENT
	case n.name == ".":
		return sys.EPERM
	case dir && !n.info.IsDir():
		return sys.ENOTDIR
	case !dir && n.info.IsDir():
		return sys.EISDIR
	}
	return errnoOf(n.parent.Remove(n.name))
}

func (h *host) rename(from, to target) sys.Errno {
	a, errno := h.walk(from, false)
	if errno != 0 {
		return errno
	}
	defer a.done()
	b, errno := h.walk(to, false)
	if errno != 0 {
		return errno
	}
	defer b.done()
	for _, one := range []struct {
		n *node
		p target
	}{{a, from}, {b, to}} {
		if errno := h.decide(one.n, one.p, true, false); errno != 0 {
			return errno
		}
	}
	switch {
	case a.info == nil:
		return sys.ENOENT
	case a.name == "." || b.name == ".":
		return sys.EPERM
	case a.info.Mode()&fs.ModeSymlink != 0 || (b.info != nil && b.info.Mode()&fs.ModeSymlink != 0):
		return sys.EPERM // a moved link would point elsewhere
	case !a.info.IsDir() && !a.info.Mode().IsRegular():
		return sys.EPERM
	}
	// The content of a moved folder was decided at its old path, not at its new
	// path; only files and empty folders can be moved.
	if a.info.IsDir() && !emptyFolder(a) {
		return sys.ENOTSUP
	}
	// The program must be allowed to read what it moves.
	root, base, errno := h.anchor()
	if errno != 0 {
		return errno
	}
	x, ok1 := below(base, a.path)
	y, ok2 := below(base, b.path)
	if !ok1 || !ok2 {
		return sys.EACCES
	}
	if errno := h.decide(a, from, false, false); errno != 0 {
		return errno
	}
	return errnoOf(root.Rename(filepath.FromSlash(x), filepath.FromSlash(y)))
}

func emptyFolder(n *node) bool {
	d, err := n.parent.Open(n.name)
	if err != nil {
		return false
	}
	defer d.Close()
	_, err = d.ReadDir(1)
	return errors.Is(err, io.EOF)
}

func (h *host) touch(p target, atim, mtim int64) sys.Errno {
	n, errno := h.walk(p, false)
	if errno != 0 {
		return errno
	}
	defer n.done()
	if errno := h.decide(n, p, true, false); errno != 0 {
		return errno
	}
	if n.info == nil {
		return sys.ENOENT
	}
	if !n.info.Mode().IsRegular() && !n.info.IsDir() {
		return sys.EACCES
	}
	keep := n.info.ModTime()
	at := func(ns int64) time.Time {
		if ns == sys.UTIME_OMIT {
			return keep
		}
		return time.Unix(0, ns)
	}
	return errnoOf(n.parent.Chtimes(n.name, at(atim), at(mtim)))
}
