package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A shelf is a folder of the cache that holds small things by their digests,
// bounded in bytes: what was not used for longest goes first. A thing is
// written whole and renamed into place; what cannot be read, or is not what
// was written, is a miss.
type shelf struct {
	dir   string
	magic string // begins each file
	most  int64  // bytes of all
	each  int64  // bytes of one

	mu      sync.Mutex
	written int64 // since the folder was last swept
	swept   bool
}

func (s *shelf) path(key string) string { return filepath.Join(s.dir, key) }

// read gives what was put under a key.
func (s *shelf) read(key string) ([]byte, bool) {
	path := s.path(key)
	data, err := readBounded(path, s.each)
	if err != nil {
		return nil, false
	}
	body, ok := bytes.CutPrefix(data, []byte(s.magic))
	if !ok || len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		_ = os.Remove(path)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // used last now
	return body[sha256.Size:], true
}

// remove takes out what is under a key.
func (s *shelf) remove(key string) { _ = os.Remove(s.path(key)) }

// write puts data under a key. What is too large for the shelf is left out.
func (s *shelf) write(key string, data []byte) error {
	sum := sha256.Sum256(data)
	file := slices.Concat([]byte(s.magic), sum[:], data)
	if size := int64(len(file)); size > s.each || size > s.most/4 {
		return nil
	}
	if err := writeFile(s.path(key), file); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += blocks(int64(len(file)))
	if !s.swept || s.written > s.most/8 {
		s.swept, s.written = true, 0
		s.sweep()
	}
	return nil
}

// sweep removes what was not used for longest until the rest is within the
// shelf's bytes. Other processes may do the same.
func (s *shelf) sweep() {
	dropUnfinished(s.dir)
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		size int64
		used time.Time
	}
	var files []file
	total := int64(0)
	for _, d := range list {
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, file{d.Name(), blocks(info.Size()), info.ModTime()})
		total += blocks(info.Size())
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, one := range files {
		if total <= s.most {
			return
		}
		if os.Remove(filepath.Join(s.dir, one.name)) == nil {
			total -= one.size
		}
	}
}

// blocks is what a file of n bytes takes of a disk that is given out in blocks.
func blocks(n int64) int64 { return (n + 4095) &^ 4095 }

// dropUnfinished removes what killed processes left half made in a folder of
// the cache. What is younger than an hour may be another's work in progress.
func dropUnfinished(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range list {
		if !strings.HasPrefix(d.Name(), ".") {
			continue
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
}

// readBounded reads a regular file of at most n bytes.
func readBounded(path string, n int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > n {
		return nil, errors.New("not a regular file of the size expected")
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, err
}

// writeFile writes a file whole, for its owner alone, and renames it into
// place.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
