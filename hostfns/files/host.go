package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/hostfns"
)

// host is a folder or file of the host that programs may access in part. The
// root is opened once, and nothing outside of it is reachable from it.
type host struct {
	gate  hostfns.Gate
	grant string // literal prefix of the granted paths, or the program's folder
	app   bool   // the program's folder: its sources may be imported
	whole bool   // a packages folder: all of it may be read
	never *protected

	mu     sync.Mutex
	root   *os.Root
	base   string // path of root: grant, or its nearest existing parent
	real   string // base with its links resolved
	closed bool
	opened map[droppable]bool
}

// droppable is an open file that the end of the run drops.
type droppable interface{ drop() }

// target is a path within a part, and the path that the guest used.
type target struct {
	rel   string // without a leading slash; "." is the part itself
	guest string

	decided string // the path on the host, if a person has just allowed it
}

// tempPrefix starts the names of files that are being written.
const tempPrefix = ".wexec-"

func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for f := range h.opened {
		f.drop()
	}
	if h.root != nil {
		_ = h.root.Close()
		h.root = nil
	}
}

// anchor opens the root.
func (h *host) anchor() (*os.Root, string, sys.Errno) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, "", sys.EBADF
	}
	if h.root != nil {
		return h.root, h.base, 0
	}
	for base := h.grant; ; base = path.Dir(base) {
		info, err := os.Stat(filepath.FromSlash(base))
		if err == nil && info.IsDir() {
			root, err := os.OpenRoot(filepath.FromSlash(base))
			if err != nil {
				return nil, "", errnoOf(err)
			}
			if h.never.above(base) || kernelFS(root) {
				_ = root.Close()
				return nil, "", sys.EACCES
			}
			h.root, h.base, h.real = root, base, realPath(base)
			return root, base, 0
		}
		if path.Dir(base) == base {
			return nil, "", sys.ENOENT
		}
	}
}

// node is a file or folder of the host that was reached without following an
// unchecked link: parent is its open folder, name its name there.
type node struct {
	parent *os.Root
	owned  bool // parent is to be closed
	name   string
	info   fs.FileInfo // nil: it does not exist
	path   string      // on the host, with links resolved below the root
}

func (n *node) done() {
	if n.owned {
		_ = n.parent.Close()
	}
}

// maxLinks bounds the links in one path.
const maxLinks = 20

// walk resolves a path one folder at a time. Each folder is opened by name and
// compared with the result of Lstat, so that a link that replaces it in between
// is detected. Links are resolved here, never above the root; the target of
// a link is decided by its own path.
func (h *host) walk(p target, follow bool) (*node, sys.Errno) {
	root, base, errno := h.anchor()
	if errno != 0 {
		return nil, errno
	}
	rel := p.rel
	if lead, ok := below(base, h.grant); ok && lead != "." {
		rel = strings.TrimSuffix(lead+"/"+p.rel, "/.")
	}
	links := 0
	todo := splitPath(rel)
	var stack []string // resolved so far, below base
	for i := 0; ; {
		if i == len(todo) { // the path is the folder itself
			return h.enter(root, base, stack, "")
		}
		part := todo[i]
		i++
		if part == ".." {
			if len(stack) == 0 {
				return nil, sys.EACCES
			}
			stack = stack[:len(stack)-1]
			continue
		}
		info, err := root.Lstat(filepath.FromSlash(strings.Join(append(slices.Clone(stack), part), "/")))
		last := i == len(todo)
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
			return h.enter(root, base, stack, part)
		case err != nil:
			return nil, errnoOf(err)
		case info.Mode()&fs.ModeSymlink != 0 && (!last || follow):
			if links++; links > maxLinks {
				return nil, sys.ELOOP
			}
			target, err := root.Readlink(filepath.FromSlash(strings.Join(append(slices.Clone(stack), part), "/")))
			if err != nil {
				return nil, errnoOf(err)
			}
			if filepath.IsAbs(target) || strings.HasPrefix(target, "/") || strings.HasPrefix(target, `\`) || filepath.VolumeName(target) != "" {
				return nil, sys.EACCES
			}
			todo = append(splitPath(filepath.ToSlash(target)), todo[i:]...)
			i = 0
		case last:
			return h.enter(root, base, stack, part)
		case !info.IsDir():
			return nil, sys.ENOTDIR
		default:
			stack = append(stack, part)
		}
	}
}

func splitPath(rel string) []string {
	var out []string
	for part := range strings.SplitSeq(rel, "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

// enter opens the folders of a path without links, each compared with the result of
// Lstat, and returns the last name as a node.
func (h *host) enter(root *os.Root, base string, folders []string, name string) (*node, sys.Errno) {
	if name == "" {
		if len(folders) == 0 {
			info, err := root.Lstat(".")
			if err != nil {
				return nil, errnoOf(err)
			}
			return &node{parent: root, name: ".", info: info, path: base}, 0
		}
		name = folders[len(folders)-1]
		folders = folders[:len(folders)-1]
	}
	n := &node{parent: root, name: name, path: strings.TrimSuffix(base, "/") + "/" + strings.Join(append(slices.Clone(folders), name), "/")}
	for _, f := range folders {
		next, errno := h.openFolder(n.parent, f)
		n.done()
		if errno != 0 {
			return nil, errno
		}
		n.parent, n.owned = next, true
	}
	info, err := n.parent.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.done()
		return nil, errnoOf(err)
	}
	if err == nil {
		n.info = info
	}
	return n, 0
}

// openFolder opens a folder that is not a link and is not protected.
func (h *host) openFolder(parent *os.Root, name string) (*os.Root, sys.Errno) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, errnoOf(err)
	}
	if !info.IsDir() {
		return nil, sys.EACCES
	}
	next, err := parent.OpenRoot(name)
	if err != nil {
		return nil, errnoOf(err)
	}
	got, err := next.Lstat(".")
	ok := err == nil && os.SameFile(info, got) && !h.never.has(got)
	if ok {
		above, err := parent.Lstat(".")
		ok = err == nil && !(crosses(above, got) && kernelFS(next))
	}
	if !ok {
		_ = next.Close()
		return nil, sys.EACCES
	}
	return next, 0
}

// private matches names of data that must not be imported.
var private = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)credential|secret|password|service[-_]?account`)
})

// sources are the extensions of files in the program's folder that it may import, and
// thus read.
var sources = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json", ".py", ".pyi"}

// decide has the policy decide access to a node.
func (h *host) decide(n *node, p target, write, look bool) sys.Errno {
	if strings.HasPrefix(n.name, tempPrefix) || h.shields(n) {
		return sys.EACCES
	}
	if p.decided != "" {
		if n.path != p.decided {
			return sys.EACCES // a link was put in place meanwhile
		}
		return 0
	}
	if h.app && !write && h.imports(n) {
		if n.info != nil && h.gate.File(h.gate.Lifetime(), hostfns.FileRequest{Path: filepath.FromSlash(n.path), Guest: p.guest, Import: true}) != nil {
			return sys.EACCES
		}
		return 0
	}
	if _, ok := below(h.grant, n.path); !ok && !(n.info != nil && n.info.IsDir() && look) {
		return sys.EACCES // a link left the grant
	}
	err := h.gate.File(h.gate.Lifetime(), hostfns.FileRequest{
		Path: filepath.FromSlash(n.path), Guest: p.guest, Write: write, Folder: n.info != nil && n.info.IsDir(), Look: look,
	})
	switch {
	case err == nil:
		return 0
	case h.app && write:
		return sys.EROFS
	}
	return sys.EACCES
}

// shields reports whether a node is protected. The folders that it is in were
// checked when they were opened.
func (h *host) shields(n *node) bool {
	if n.info != nil && h.never.has(n.info) {
		return true
	}
	rel, ok := below(h.base, n.path)
	return !ok || h.never.covers(path.Join(h.real, rel))
}

// imports reports whether a node of the program's folder or of its packages
// is a source, or a folder that may contain sources.
func (h *host) imports(n *node) bool {
	rel, ok := below(h.grant, n.path)
	if !ok {
		return false
	}
	for _, part := range splitPath(rel) {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	if n.info == nil || n.info.IsDir() {
		return true
	}
	if !n.info.Mode().IsRegular() {
		return false
	}
	ending := strings.ToLower(path.Ext(n.name))
	return h.whole || slices.Contains(sources, ending) && !(ending == ".json" && private().MatchString(n.name))
}

func (h *host) stat(p target, follow bool) (stat.Stat_t, sys.Errno) {
	n, errno := h.walk(p, follow)
	if errno != 0 {
		return stat.Stat_t{}, errno
	}
	defer n.done()
	if errno := h.decide(n, p, false, true); errno != 0 {
		// A write-only folder exists.
		if errno == sys.EROFS || h.decide(n, p, true, true) != 0 {
			return stat.Stat_t{}, errno
		}
	}
	if n.info == nil {
		return stat.Stat_t{}, sys.ENOENT
	}
	return statOf(n.info), 0
}

func statOf(info fs.FileInfo) stat.Stat_t { return stat.NewStat_t(info) }

// errnoOf returns the errno of an error. An escape from an os.Root
// is EACCES.
func errnoOf(err error) sys.Errno {
	if err == nil {
		return 0
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sys.ENOENT
	case errors.Is(err, fs.ErrExist):
		return sys.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return sys.EACCES
	case strings.Contains(err.Error(), "escapes"):
		return sys.EACCES
	}
	if e := sys.UnwrapOSError(err); e != 0 && e != sys.EIO {
		return e
	}
	return sys.EIO
}
