package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// resultFolder keeps entries of the result cache on disk. An entry is written
// whole and renamed into place; what cannot be read, or is not what was
// written, is a miss.
type resultFolder struct {
	dir  string
	most int64

	mu      sync.Mutex
	written int64 // since the folder was last swept
}

const (
	entryMagic = "wexec result 1\n"
	maxEntry   = 8 << 20
)

func newResultFolder(dir string, most int64) *resultFolder {
	return &resultFolder{dir: filepath.Join(dir, "results"), most: most}
}

func (f *resultFolder) path(digest string) string { return filepath.Join(f.dir, digest) }

func (f *resultFolder) read(digest string) (resultEntry, bool) {
	path := f.path(digest)
	data, err := readBounded(path, maxEntry)
	if err != nil {
		return resultEntry{}, false
	}
	body, ok := bytes.CutPrefix(data, []byte(entryMagic))
	var e resultEntry
	if !ok || len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) ||
		json.Unmarshal(body[sha256.Size:], &e) != nil {
		_ = os.Remove(path)
		return resultEntry{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // used last now
	return e, true
}

func (f *resultFolder) write(digest string, e resultEntry) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	data := slices.Concat([]byte(entryMagic), sum[:], body)
	if len(data) > maxEntry || int64(len(data)) > f.most/4 {
		return nil
	}
	if err := writeFile(f.path(digest), data); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.written == 0
	f.written += int64(len(data))
	if first || f.written > f.most/8 {
		f.written = 1
		sweepFolder(f.dir, f.most)
	}
	return nil
}

// sweepFolder removes the files of a folder that were not used for longest
// until the rest is within most bytes. Other processes may do the same.
func sweepFolder(dir string, most int64) {
	dropUnfinished(dir)
	list, err := os.ReadDir(dir)
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
		files = append(files, file{d.Name(), info.Size(), info.ModTime()})
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, one := range files {
		if total <= most {
			return
		}
		if os.Remove(filepath.Join(dir, one.name)) == nil {
			total -= one.size
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
