// Package files is the file system of programs: /tmp in memory, /mcp-servers
// with the catalogue, /app with the program's files, and the host files that the policy
// allows. The policy decides each open, and it is recorded; no link, "..",
// race, device or spelling of a path escapes.
package files

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Provider mounts the files of runs. It has no tools.
type Provider struct{ protected []string }

// New makes the provider. The protected files and folders, absolute paths of
// the host, are out of reach for every program, whatever a policy grants: they
// are what decides and records what programs do. So are /proc, /sys and /dev.
func New(protected ...string) *Provider { return &Provider{protected: protected} }

// Servers returns nothing: the provider has no tools.
func (*Provider) Servers() []string { return nil }

// Tools returns nothing.
func (*Provider) Tools(context.Context, string) ([]catalogue.Tool, error) { return nil, nil }

// Call fails: the provider has no tools.
func (*Provider) Call(context.Context, hostfns.Call) (hostfns.Answer, error) {
	return hostfns.Answer{}, fault.New(fault.ToolUnknown, "the files provider has no tools")
}

// Watch does nothing: there are no changes.
func (*Provider) Watch(func(string)) func() { return func() {} }

// Close does nothing.
func (*Provider) Close() error { return nil }

// defaultMemory bounds /tmp if the run sets no limit.
const defaultMemory = 64 << 20

// Mount makes the file system of one run.
func (p *Provider) Mount(m hostfns.Mount) (sys.FS, io.Closer, error) {
	never := &protected{paths: p.protected}
	t := &tree{
		gate:  m.Gate,
		dir:   cleanDir(m.Dir),
		tmp:   newMemory(cmp.Or(m.Memory, defaultMemory), m.Gate, m.Now),
		tools: func() sys.FS { return &sysfs.AdaptFS{FS: toolTree(m.Catalogue)} },
	}
	if m.Workspace != nil {
		t.workspace = m.Workspace.Files(m.Gate)
	}
	t.descriptors.tmp = t.tmp
	if root := cleanDir(m.Root); root != "" {
		t.app = &host{gate: m.Gate, grant: root, app: true, never: never}
	}
	if m.Ask {
		t.beyond = &host{gate: m.Gate, grant: filepath.ToSlash(filepath.VolumeName(t.dir)) + "/", never: never}
	}
	if packages := cleanDir(m.Packages); packages != "" {
		t.packages = &host{gate: m.Gate, grant: packages, app: true, whole: true, never: never}
	}
	if t.packages == nil && m.Installed != nil {
		fsys := &sysfs.AdaptFS{FS: m.Installed}
		t.installed = func() sys.FS { return fsys }
	}
	for _, grant := range slices.Concat(m.Read, m.Write) {
		if grant = cleanDir(grant); grant != "" && !slices.ContainsFunc(t.hosts, func(h *host) bool { return h.grant == grant }) {
			t.hosts = append(t.hosts, &host{gate: m.Gate, grant: grant, never: never})
		}
	}
	// The longest grant that contains a path applies.
	slices.SortFunc(t.hosts, func(a, b *host) int { return cmp.Or(len(b.grant)-len(a.grant), strings.Compare(a.grant, b.grant)) })
	return t, t, nil
}

func toolTree(make func() fs.FS) fs.FS {
	if make != nil {
		if tree := make(); tree != nil {
			return tree
		}
	}
	return catalogue.New(nil).Tree(nil)
}

// tree is the root file system: it dispatches each path to its part.
type tree struct {
	sys.UnimplementedFS
	gate hostfns.Gate
	dir  string // where relative paths start

	tmp   *memory
	tools func() sys.FS
	app   *host // nil: no folder of the program
	hosts []*host

	beyond   *host // what no grant contains, if a person may be asked; else nil
	approved bool  // a person allowed something of it

	packages  *host         // nil: no folder of packages
	installed func() sys.FS // packages that are not in a folder; nil: none

	workspace sys.FS // nil: the run has no workspace

	descriptors descriptors
}

// Close closes open files; unfinished writes are dropped.
func (t *tree) Close() error {
	t.tmp.close()
	for _, h := range []*host{t.app, t.packages, t.beyond} {
		if h != nil {
			h.close()
		}
	}
	for _, h := range t.hosts {
		h.close()
	}
	return nil
}

// place is a path resolved to a part.
type place struct {
	own   sys.FS        // /tmp or the workspace: what a program may do there it decides itself
	fixed func() sys.FS // a read-only tree: the catalogue or packages
	host  *host         // app or a grant
	names []string
	dir   bool // a folder that exists only on the way to grants; names are its entries

	ungranted bool // no grant contains the path
	target
}

// Top-level folders of guests.
const (
	tmpName   = "tmp"
	toolsName = "mcp-servers"
	appName   = "app"

	packagesName  = "packages"
	workspaceName = "workspace"
)

// find resolves a path to its part. The path comes from the guest:
// ambiguous paths are errors.
func (t *tree) find(name string) (place, sys.Errno) {
	clean, errno := plain(name, runtime.GOOS == "windows")
	if errno != 0 {
		return place{}, errno
	}
	p := place{target: target{guest: "/" + clean}}
	if clean == "." {
		p.dir, p.names, p.guest = true, t.top(), "/"
		return p, 0
	}
	first, rest, _ := strings.Cut(clean, "/")
	if rest == "" {
		rest = "."
	}
	if first == workspaceName && t.workspace != nil {
		p.own, p.rel = t.workspace, rest
		return p, 0
	}
	if rest != "." {
		// A grant below the host's /tmp, or below a folder with such a
		// name, takes precedence.
		if q, ok := t.granted(p, hostPath(clean)); ok {
			return q, 0
		}
	}
	switch {
	case first == tmpName:
		p.own, p.rel = t.tmp, rest
		return p, 0
	case first == toolsName:
		p.fixed, p.rel = t.tools, rest
		return p, 0
	case first == packagesName && t.installed != nil:
		p.fixed, p.rel = t.installed, rest
		return p, 0
	case first == appName && t.app != nil:
		p.host, p.rel = t.app, rest
		return p, 0
	case first == packagesName && t.packages != nil:
		p.host, p.rel = t.packages, rest
		return p, 0
	}
	for _, abs := range t.meanings(clean) {
		if q, ok := t.granted(p, abs); ok {
			return q, 0
		}
	}
	p.ungranted = first != appName && first != packagesName && !noFile(path.Base(clean))
	if len(t.hosts) == 0 {
		return p, sys.ENOENT
	}
	return p, sys.EACCES
}

// Scratch reports whether a path is in /tmp, which a run that goes on fills again.
func (t *tree) Scratch(name string) bool {
	p, errno := t.find(name)
	return errno == 0 && p.own == t.tmp
}

// access is what an operation does with a path.
type access struct {
	read, write bool
	link        bool // a link is meant itself, not what it leads to
}

// reach is find, except that a person is asked about a path that no grant contains,
// if there is one to ask. Before the answer nothing tells the program
// whether the path exists. With neither access it is not asked for.
func (t *tree) reach(name string, does access) (place, sys.Errno) {
	p, errno := t.find(name)
	look := !does.read && !does.write
	if !p.ungranted || t.beyond == nil || look && !t.approved {
		return p, errno
	}
	abs := t.meant(strings.TrimPrefix(p.guest, "/"))
	real := realPath(abs)
	if does.link {
		real = path.Join(realPath(path.Dir(abs)), path.Base(abs))
	}
	rel, ok := below(t.beyond.grant, real)
	if !ok || t.beyond.never.covers(real) {
		return p, errno
	}
	info, err := os.Lstat(filepath.FromSlash(real))
	req := hostfns.FileRequest{Path: filepath.FromSlash(real), Guest: p.guest, Folder: err == nil && info.IsDir(), Look: look}
	for _, write := range []bool{false, true} {
		req.Write = write
		if (look && !write || does.read && !write || does.write && write) && t.gate.File(t.gate.Lifetime(), req) != nil {
			return p, errno
		}
	}
	t.approved = true
	p.host, p.rel = t.beyond, rel
	if !look {
		p.decided = real
	}
	return p, 0
}

// meant returns the path of the host that a person is asked about: the one that
// exists, or whose folder does, and rather in the working folder.
func (t *tree) meant(clean string) string {
	all := t.meanings(clean)
	slices.Reverse(all)
	for _, of := range []func(string) string{filepath.FromSlash, filepath.Dir} {
		for _, abs := range all {
			if _, err := os.Stat(of(abs)); err == nil {
				return abs
			}
		}
	}
	return slices.Concat(all, []string{""})[0]
}

// noFile reports whether a name is that of code without a file, such as <string>.
// Interpreters look for its lines when they print an error.
func noFile(name string) bool { return strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">") }

// granted finds the grant that contains a path of the host, or that is below it.
func (t *tree) granted(p place, abs string) (place, bool) {
	if abs == "" {
		return p, false
	}
	for _, h := range t.hosts {
		if rel, ok := below(h.grant, abs); ok && h.grant != "/"+tmpName {
			p.host, p.rel = h, rel
			return p, true
		}
	}
	if names := t.leading(abs); len(names) > 0 {
		p.dir, p.names = true, names
		return p, true
	}
	return p, false
}

// meanings returns the host paths that a guest path may mean:
// absolute, and relative to the working folder.
func (t *tree) meanings(clean string) []string {
	var out []string
	if abs := hostPath(clean); abs != "" {
		out = append(out, abs)
	}
	if t.dir != "" {
		out = append(out, strings.TrimSuffix(t.dir, "/")+"/"+clean)
	}
	return out
}

// leading returns the names in a folder that lead to a grant.
func (t *tree) leading(abs string) []string {
	var names []string
	for _, h := range t.hosts {
		if rel, ok := below(abs, h.grant); ok && rel != "." {
			name, _, _ := strings.Cut(rel, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// top returns the names in "/".
func (t *tree) top() []string {
	names := []string{toolsName, tmpName}
	if t.workspace != nil {
		names = append(names, workspaceName)
	}
	if t.app != nil {
		names = append(names, appName)
	}
	if t.packages != nil || t.installed != nil {
		names = append(names, packagesName)
	}
	names = append(names, t.leading("/")...)
	if t.dir != "" {
		names = append(names, t.leading(t.dir)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const writing = sys.O_RDWR | sys.O_WRONLY | sys.O_APPEND | sys.O_CREAT | sys.O_TRUNC

func (t *tree) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	p, errno := t.reach(name, access{
		read: flag&(sys.O_WRONLY|sys.O_TRUNC|sys.O_EXCL) == 0, write: flag&writing != 0, link: flag&sys.O_NOFOLLOW != 0,
	})
	if errno != 0 {
		return nil, errno
	}
	f, errno := t.open(p, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	return t.descriptors.add(f)
}

func (t *tree) open(p place, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	switch {
	case p.dir:
		if flag&writing != 0 {
			return nil, sys.EISDIR
		}
		return newFolder(p.entries(), folderStat(p.guest)), 0
	case p.own != nil:
		return p.own.OpenFile(p.rel, flag, perm)
	case p.fixed != nil:
		if flag&writing != 0 {
			return nil, sys.EROFS
		}
		f, errno := p.fixed().OpenFile(p.rel, flag, perm)
		if errno != 0 {
			return nil, errno
		}
		return &counted{File: f, gate: t.gate}, 0
	}
	return p.host.open(p.target, flag)
}

func (p place) entries() []sys.Dirent {
	out := make([]sys.Dirent, len(p.names))
	for i, n := range p.names {
		out[i] = sys.Dirent{Name: n, Type: fs.ModeDir, Ino: inode(p.guest + "/" + n)}
	}
	return out
}

func (t *tree) Stat(name string) (stat.Stat_t, sys.Errno)  { return t.stat(name, true) }
func (t *tree) Lstat(name string) (stat.Stat_t, sys.Errno) { return t.stat(name, false) }

func (t *tree) stat(name string, follow bool) (stat.Stat_t, sys.Errno) {
	p, errno := t.reach(name, access{link: !follow})
	switch {
	case errno != 0:
		return stat.Stat_t{}, errno
	case p.dir:
		return folderStat(p.guest), 0
	case p.own != nil && follow:
		return p.own.Stat(p.rel)
	case p.own != nil:
		return p.own.Lstat(p.rel)
	case p.fixed != nil:
		return p.fixed().Stat(p.rel)
	}
	return p.host.stat(p.target, follow)
}

// change applies a change of one path.
func (t *tree) change(name string, own func(fs sys.FS, rel string) sys.Errno, host func(*host, target) sys.Errno) sys.Errno {
	p, errno := t.reach(name, access{write: true, link: true})
	switch {
	case errno != 0:
		return errno
	case p.dir, p.fixed != nil:
		return sys.EROFS
	case p.own != nil:
		return own(p.own, p.rel)
	}
	return host(p.host, p.target)
}

// Mkdir asks nobody: programs make every folder on the way to a file.
func (t *tree) Mkdir(name string, perm fs.FileMode) sys.Errno {
	if p, errno := t.find(name); p.ungranted {
		return errno
	}
	return t.change(name, func(own sys.FS, rel string) sys.Errno { return own.Mkdir(rel, perm) }, (*host).mkdir)
}

func (t *tree) Rmdir(name string) sys.Errno {
	return t.change(name, sys.FS.Rmdir, func(h *host, p target) sys.Errno { return h.remove(p, true) })
}

func (t *tree) Unlink(name string) sys.Errno {
	return t.change(name, sys.FS.Unlink, func(h *host, p target) sys.Errno { return h.remove(p, false) })
}

func (t *tree) Utimens(name string, atim, mtim int64) sys.Errno {
	return t.change(name, func(own sys.FS, rel string) sys.Errno { return own.Utimens(rel, atim, mtim) },
		func(h *host, p target) sys.Errno { return h.touch(p, atim, mtim) })
}

// Chmod does nothing in /tmp, and fails for files of the host.
func (t *tree) Chmod(name string, perm fs.FileMode) sys.Errno {
	return t.change(name, func(own sys.FS, rel string) sys.Errno { return own.Chmod(rel, perm) },
		func(h *host, p target) sys.Errno { return sys.ENOTSUP })
}

func (t *tree) Rename(from, to string) sys.Errno {
	a, errno := t.reach(from, access{read: true, write: true, link: true})
	if errno != 0 {
		return errno
	}
	b, errno := t.reach(to, access{write: true, link: true})
	switch {
	case errno != 0:
		return errno
	case a.dir || b.dir || a.fixed != nil || b.fixed != nil:
		return sys.EROFS
	case a.own != nil && a.own == b.own:
		return a.own.Rename(a.rel, b.rel)
	case a.own != nil || b.own != nil || a.host != b.host:
		return sys.ENOTSUP // programs then copy, as between two devices
	}
	return a.host.rename(a.target, b.target)
}

// Link and Symlink fail: a link could bypass a decision.
func (t *tree) Link(string, string) sys.Errno    { return sys.EPERM }
func (t *tree) Symlink(string, string) sys.Errno { return sys.EPERM }

// Readlink finds links in the workspace only. Those of the host are resolved before a
// program sees a path.
func (t *tree) Readlink(name string) (string, sys.Errno) {
	if p, errno := t.find(name); errno == 0 && p.own != nil {
		return p.own.Readlink(p.rel)
	}
	if _, errno := t.Lstat(name); errno != 0 {
		return "", errno
	}
	return "", sys.EINVAL
}
