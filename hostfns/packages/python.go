package packages

import (
	"path"
	"path/filepath"
	"strings"
)

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
