package files

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	stat "github.com/tetratelabs/wazero/sys"
)

// kernelFolders are folders in which the kernel shows state and devices as files.
var kernelFolders = map[string][]string{"linux": {"/proc", "/sys", "/dev"}, "darwin": {"/dev"}}

// protected are the files and folders of the host that no program can access,
// whatever the policy allows. A file is recognized by its identity, so that a
// hard link or a second mount does not bypass the check, and by its path, because it
// may not exist yet or may have been replaced.
type protected struct {
	paths []string

	resolve sync.Once
	infos   []fs.FileInfo
	real    []string // paths with links resolved, with slashes
}

// load resolves the paths. It runs when a program first uses a file of the
// host, because few programs do.
func (g *protected) load() {
	g.resolve.Do(func() {
		for _, p := range slices.Concat(g.paths, kernelFolders[runtime.GOOS]) {
			if !filepath.IsAbs(p) {
				continue
			}
			if info, err := os.Stat(p); err == nil {
				g.infos = append(g.infos, info)
			}
			g.real = append(g.real, realPath(p))
		}
	})
}

// has reports whether a file or folder is protected itself.
func (g *protected) has(info fs.FileInfo) bool {
	g.load()
	return slices.ContainsFunc(g.infos, func(p fs.FileInfo) bool { return os.SameFile(p, info) })
}

// covers reports whether a path, with its links resolved, is protected or below
// a protected folder.
func (g *protected) covers(real string) bool {
	g.load()
	return slices.ContainsFunc(g.real, func(p string) bool { _, ok := below(p, real); return ok })
}

// above reports whether a folder, or a folder that it is in, is protected.
func (g *protected) above(dir string) bool {
	for dir = realPath(dir); ; dir = path.Dir(dir) {
		if g.covers(dir) {
			return true
		}
		if info, err := os.Stat(filepath.FromSlash(dir)); err == nil && g.has(info) {
			return true
		}
		if path.Dir(dir) == dir {
			return false
		}
	}
}

// realPath resolves the links of the existing part of a path.
func realPath(p string) string {
	rest := ""
	for dir := filepath.Clean(p); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return path.Join(filepath.ToSlash(real), rest)
		}
		if filepath.Dir(dir) == dir {
			return filepath.ToSlash(filepath.Clean(p))
		}
		rest = path.Join(filepath.Base(dir), rest)
	}
}

// crosses reports whether two files are on different mounted file systems.
func crosses(a, b fs.FileInfo) bool { return stat.NewStat_t(a).Dev != stat.NewStat_t(b).Dev }
