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
