package packages

import (
	"errors"
	"os"
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
