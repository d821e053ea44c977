package guestcache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// DiskCache is a folder of small entries by digest, bounded in bytes. Entries
// that were not used for longest are removed first. An entry is a miss if it is
// unreadable or damaged, or if another user can have written it. A nil DiskCache
// has no entries.
type DiskCache struct {
	Dir      string // as returned by package ownfile
	Magic    string // begins each file
	Max      int64  // bytes of all entries
	MaxEntry int64  // bytes of one entry

	mu      sync.Mutex
	written int64 // since the last sweep
	swept   bool
}

func (c *DiskCache) path(key string) string { return filepath.Join(c.Dir, key) }

// Get returns the entry of a key.
func (c *DiskCache) Get(key string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	path := c.path(key)
	data, err := ownfile.Read(path, c.MaxEntry)
	if err != nil {
		return nil, false
	}
	body, ok := bytes.CutPrefix(data, []byte(c.Magic))
	if !ok || len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		c.Remove(key)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the time of the last use
	return body[sha256.Size:], true
}

// Remove removes the entry of a key.
func (c *DiskCache) Remove(key string) { _ = os.Remove(c.path(key)) }

// RemoveIf removes the entries that match selects.
func (c *DiskCache) RemoveIf(match func(data []byte) bool) error {
	if c == nil {
		return nil
	}
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		data, readErr := os.ReadFile(c.path(e.Name()))
		if readErr != nil || !match(data) {
			continue // one that was removed meanwhile, or has nothing of it
		}
		if removed := os.Remove(c.path(e.Name())); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// Put stores an entry, unless it is too large.
func (c *DiskCache) Put(key string, data []byte) error {
	if c == nil {
		return nil
	}
	sum := sha256.Sum256(data)
	file := slices.Concat([]byte(c.Magic), sum[:], data)
	size := int64(len(file))
	if size > c.MaxEntry || size > c.Max/4 {
		return nil
	}
	if err := atomicfile.Write(c.path(key), file, 0o600); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written += onDisk(size); !c.swept || c.written > c.Max/8 {
		c.swept, c.written = true, 0
		c.sweep()
	}
	return nil
}

// sweep removes the entries that were not used for longest, down to Max bytes.
// Other processes may do the same at once.
func (c *DiskCache) sweep() {
	removeUnfinished(c.Dir)
	list, _ := os.ReadDir(c.Dir)
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
		files = append(files, file{d.Name(), onDisk(info.Size()), info.ModTime()})
		total += onDisk(info.Size())
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, f := range files {
		if total <= c.Max {
			return
		}
		if os.Remove(c.path(f.name)) == nil {
			total -= f.size
		}
	}
}

// onDisk returns the space of a file of n bytes, which is allocated in blocks.
func onDisk(n int64) int64 { return (n + 4095) &^ 4095 }
