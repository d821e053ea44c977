package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Read reads the package at a path: a wheel, a tarball of npm, a folder with a
// package.json, a folder that is a Python package, or a folder with Python modules
// and packages. The error is of the code usage.file.
func Read(name string) (*Package, error) {
	p, err := read(name)
	if err != nil {
		f := refused("read the package %s: %w", name, err)
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) {
			f = f.WithHint("%s", hinted.Hint())
		}
		return nil, f
	}
	return p, nil
}

func read(name string) (*Package, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cause(err)
	}
	c := &collector{files: map[string][]byte{}}
	var p *Package
	switch {
	case info.IsDir() && isFile(filepath.Join(name, "package.json")):
		p, err = c.npmFolder(name)
	case info.IsDir():
		p, err = c.pythonFolder(name)
	case strings.HasSuffix(name, ".whl"):
		p, err = c.wheel(name)
	case strings.HasSuffix(name, ".zip"):
		p, err = c.archive(name)
	case strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz"):
		p, err = c.tarball(name)
	default:
		return nil, refused("not a wheel (.whl), a tarball of npm (.tgz) or a folder")
	}
	if err == nil {
		err = checkCase(p.Files)
	}
	if err == nil && len(p.Files) == 0 {
		err = refused("there is nothing to import in it")
	}
	return p, err
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// cause is a file error without the operation and the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// ReadArchive reads a file of at most the size of an archive.
func ReadArchive(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readAll(f, maxArchive)
}

// readAll reads at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = refused("larger than %d MiB", limit>>20)
	}
	return data, err
}

// archive reads an archive that [Package.Archive] made.
func (c *collector) archive(name string) (*Package, error) {
	data, err := ReadArchive(name)
	if err != nil {
		return nil, err
	}
	about, files, err := openArchive(data)
	if err != nil {
		return nil, err
	}
	for name, f := range files {
		if err := c.take(name, func(limit int64) ([]byte, error) { return inflate(f, limit) }); err != nil {
			return nil, err
		}
	}
	p := &Package{About: about, Files: c.files}
	return p, p.named("")
}

// ---- Python ----

// wheel reads a wheel: a zip archive whose files go where they are, except for
// those of NAME.data.
func (c *collector) wheel(name string) (*Package, error) {
	data, err := ReadArchive(name)
	if err != nil {
		return nil, err
	}
	z, err := openZip(data)
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !f.Mode().IsRegular() {
			return nil, refused("%.100q is not a regular file", f.Name)
		}
		to := f.Name
		if first, rest, ok := strings.Cut(to, "/"); ok && strings.HasSuffix(first, ".data") {
			kind, rest, _ := strings.Cut(rest, "/")
			if kind != "purelib" && kind != "platlib" {
				continue // scripts, headers, data of the installation
			}
			to = rest
		}
		if err := c.take(to, func(limit int64) ([]byte, error) { return inflate(f, limit) }); err != nil {
			return nil, err
		}
	}
	p := &Package{About: About{Kind: Python}, Files: c.files}
	for file, text := range c.files {
		if dir, base := path.Split(file); base == "METADATA" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(file, "/") == 1 {
			p.Name, p.Version = field(text, "Name"), field(text, "Version")
		}
	}
	return p, p.named(strings.TrimSuffix(filepath.Base(name), ".whl"))
}

// field returns a field of the head of METADATA.
func field(text []byte, name string) string {
	head, _, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(head) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// pythonFolder reads a folder that is a package, or has modules and packages.
func (c *collector) pythonFolder(dir string) (*Package, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	below := ""
	if isFile(filepath.Join(dir, "__init__.py")) {
		below = filepath.Base(abs)
	}
	if err := c.folder(dir, below, nil); err != nil {
		return nil, err
	}
	python := false
	for file := range c.files {
		python = python || strings.HasSuffix(file, ".py")
	}
	if !python {
		return nil, refused("a folder without Python modules and without a package.json")
	}
	p := &Package{About: About{Kind: Python}, Files: c.files}
	return p, p.named(filepath.Base(abs))
}

// folder reads the files of a folder. Links are refused: they may lead anywhere.
func (c *collector) folder(dir, below string, skip func(rel string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil {
			return cause(err)
		}
		if rel != "." && (unused(rel) || skip != nil && skip(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return refused("%s is a link or not a regular file", rel)
		}
		return c.take(path.Join(below, rel), func(limit int64) ([]byte, error) {
			f, err := root.Open(rel)
			if err != nil {
				return nil, cause(err)
			}
			defer f.Close()
			return readAll(f, limit)
		})
	})
}

// ---- npm ----

// modules is the folder below which packages of npm are until they are bundled.
const modules = "node_modules"

// npmFolder reads the folder of a package, and those of packages next to it that
// it needs.
func (c *collector) npmFolder(dir string) (*Package, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	about, needs, err := readManifest(filepath.Join(abs, "package.json"))
	if err != nil {
		return nil, err
	}
	p := &Package{About: about, Files: c.files}
	if err := p.named(""); err != nil {
		return nil, err
	}
	if err := c.folder(abs, path.Join(modules, p.Name), isNotCode); err != nil {
		return nil, err
	}
	around := strings.TrimSuffix(abs, string(filepath.Separator)+filepath.FromSlash(p.Name))
	if filepath.Base(around) != modules {
		return p, nil
	}
	for seen := map[string]bool{p.Name: true}; len(needs) > 0; needs = needs[1:] {
		name := needs[0]
		if seen[name] || !isNPMName(name) {
			continue
		}
		seen[name] = true
		from := filepath.Join(around, filepath.FromSlash(name))
		_, more, err := readManifest(filepath.Join(from, "package.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is in the package that needs it, or it is optional
		}
		if err == nil {
			err = c.folder(from, path.Join(modules, name), isNotCode)
		}
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return p, nil
}

// isNotCode reports whether a file of an npm package cannot be part of a bundle,
// such as a type declaration or a source map.
func isNotCode(rel string) bool {
	if strings.HasSuffix(rel, ".d.ts") || strings.HasSuffix(rel, ".d.mts") || strings.HasSuffix(rel, ".d.cts") {
		return true
	}
	switch path.Ext(rel) {
	case "", ".js", ".cjs", ".mjs", ".json", ".ts", ".mts", ".cts", ".txt":
		return false
	}
	return !isNative(rel) // a native module is refused
}

// readManifest reads a package.json.
func readManifest(name string) (about About, needs []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return about, nil, cause(err)
	}
	defer f.Close()
	data, err := readAll(f, 4<<20)
	if err != nil {
		return about, nil, err
	}
	return parseManifest(data)
}

func parseManifest(data []byte) (about About, needs []string, err error) {
	var m struct {
		Name, Version string
		Dependencies  map[string]string
		Peers         map[string]string `json:"peerDependencies"`
		GypFile       bool              `json:"gypfile"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return about, nil, refused("read package.json: %w", err)
	}
	if m.GypFile {
		return about, nil, refused("the package %.100q is a native addon: only pure packages are supported", m.Name).
			WithHint("use a package written in JavaScript, or a tool")
	}
	for name := range m.Dependencies {
		needs = append(needs, name)
	}
	for name := range m.Peers {
		needs = append(needs, name)
	}
	return About{Name: m.Name, Version: m.Version, Kind: NPM}, needs, nil
}

// tarball reads what npm pack writes: a package without those that it needs.
func (c *collector) tarball(name string) (*Package, error) {
	data, err := ReadArchive(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	// Each entry takes 512 bytes, so that this bounds their number too.
	r := tar.NewReader(io.LimitReader(z, maxBytes+maxFiles*1024))
	inside := map[string][]byte{}
	c.files = inside
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return nil, refused("%.100q is a link or not a regular file", h.Name)
		}
		_, rel, ok := strings.Cut(h.Name, "/") // below package/
		if !ok || isNotCode(rel) {
			continue
		}
		if err := c.take(rel, func(limit int64) ([]byte, error) { return readAll(r, limit) }); err != nil {
			return nil, err
		}
	}
	about, _, err := parseManifest(inside["package.json"])
	if err != nil {
		return nil, err
	}
	p := &Package{About: about, Files: map[string][]byte{}}
	if err := p.named(""); err != nil {
		return nil, err
	}
	for rel, text := range inside {
		p.Files[path.Join(modules, p.Name, rel)] = text
	}
	return p, nil
}

// named checks the name and the version, which become the name of a file. Without
// a name the package has the fallback.
func (p *Package) named(fallback string) error {
	if p.Name == "" {
		p.Name = fallback
	}
	if p.Kind == NPM && !isNPMName(p.Name) || p.Kind == Python && !isWord(p.Name) {
		return refused("invalid name of a package %.100q", p.Name)
	}
	if p.Version != "" && !isWord(p.Version) {
		return refused("invalid version of a package %.100q", p.Version)
	}
	return nil
}

// isNPMName reports whether a name is one of npm, such as left or @scope/left.
func isNPMName(name string) bool {
	if rest, ok := strings.CutPrefix(name, "@"); ok {
		scope, rest, ok := strings.Cut(rest, "/")
		return ok && isWord(scope) && isWord(rest)
	}
	return isWord(name)
}

// isWord reports whether a name has only letters, digits and marks, and begins
// with a letter or a digit.
func isWord(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._+!~-", r)) {
			return false
		}
	}
	return name != "" && len(name) <= 100
}
