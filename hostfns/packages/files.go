package packages

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

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
