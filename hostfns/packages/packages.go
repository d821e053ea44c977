// Package packages makes archives of pure packages that programs may import, and
// opens them as a read-only file system. A person names a wheel, a folder or a
// package of npm; [Read] checks it, [Package.Archive] makes one archive of it, the
// same bytes for the same files, and [Open] gives programs the files of several.
//
// Packages may come from untrusted people: what is read of them is bounded, and
// nothing of them is executed.
package packages

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Kinds of packages.
const (
	Python = "python"
	NPM    = "npm"
)

// About describes a package. An archive has it as its comment.
type About struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"` // Python or NPM
}

// Package is a package and its files by path, as programs see them below
// /packages. Those of an npm package are below node_modules until it is bundled.
type Package struct {
	About
	Files map[string][]byte
}

// Bounds of one package.
const (
	maxArchive = 64 << 20 // bytes of an archive
	maxBytes   = 128 << 20
	maxFiles   = 20_000
	maxPath    = 240
)

// collector collects the files of a package within the bounds.
type collector struct {
	files map[string][]byte
	bytes int64
}

// refused is the error of a package that cannot be used.
func refused(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageFile, format, args...)
}

// take reads a file of at most what is left of the bounds, if programs can use it.
func (c *collector) take(name string, read func(limit int64) ([]byte, error)) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if isNative(name) {
		return refused("native module %s: only pure packages are supported", name).
			WithHint("use a package without native code; for tables and statistics use sqlite3, csv, statistics and collections")
	}
	if unused(name) {
		return nil
	}
	if len(c.files) >= maxFiles {
		return refused("more than %d files", maxFiles)
	}
	if _, ok := c.files[name]; ok {
		return refused("the file %s is there twice", name)
	}
	data, err := read(maxBytes - c.bytes)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if c.bytes += int64(len(data)); c.bytes > maxBytes {
		return refused("more than %d MiB of files", maxBytes>>20)
	}
	c.files[name] = data
	return nil
}

// checkPath refuses paths that are ambiguous, that leave the package, or that not
// every system can have.
func checkPath(name string) error {
	bad := !fs.ValidPath(name) || len(name) > maxPath || strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`\:*?"<>|`, r)
	})
	if bad {
		return refused("invalid path %.100q", name)
	}
	return nil
}

// checkCase refuses paths that differ only in case, which one system has as two
// files and another as one, and a file where another path needs a folder.
func checkCase[F any](files map[string]F) error {
	spelled := map[string]string{} // by path in lower case; folders end with a slash
	for name := range files {
		for dir := name; dir != "."; dir = path.Dir(dir) {
			key := strings.ToLower(dir)
			if other, ok := spelled[key]; ok && other != dir {
				return refused("%s and %s differ only in case", min(dir, other), max(dir, other))
			}
			spelled[key] = dir
			if _, isFile := files[dir]; isFile && dir != name {
				return refused("%s is a file and a folder", dir)
			}
		}
	}
	return nil
}

// isNative reports whether a file is code for one machine.
func isNative(name string) bool {
	base := strings.ToLower(path.Base(name))
	return slices.Contains([]string{".so", ".pyd", ".dll", ".dylib", ".node", ".a", ".o"}, path.Ext(base)) || strings.Contains(base, ".so.")
}

// unused reports whether programs have no use for a file: hidden and compiled
// ones.
func unused(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__pycache__" {
			return true
		}
	}
	return strings.HasSuffix(name, ".pyc")
}
