package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/engine/internal/lru"
	"github.com/wexec/wexec/hostfns"
)

// resultCache holds the values of programs that certainly give them again:
// those that called no tool and were deterministic, and those whose every call
// may be reused by its rule.
type resultCache struct {
	table   *hostfns.Table // whose results are written to disk
	log     *slog.Logger
	entries *lru.Map[resultKey, resultEntry]
	disk    *guestcache.DiskCache

	mu          sync.Mutex
	running     map[resultKey]chan struct{} // closed when the run has ended
	uncacheable map[resultKey]bool          // runs whose value could not be kept
}

// resultKey is everything that the value depends on. The table is part of it:
// two tenants never share a value.
type resultKey struct {
	table  *hostfns.Table
	digest string // of the rest, in hex
}

// resultEntry is what is kept of a run.
type resultEntry struct {
	Value   json.RawMessage `json:"value"`
	Stdout  string          `json:"stdout,omitempty"`
	Stderr  string          `json:"stderr,omitempty"`
	Tools   []string        `json:"tools,omitempty"`
	Expires time.Time       `json:"expires,omitzero"` // zero: never
	Files   []fileDigest    `json:"files,omitempty"`  // of the program's folder that the run used
}

// maxUncacheable bounds how many keys are remembered as uncacheable.
const maxUncacheable = 4096

func newResultCache(most int64, c *Cache, t *hostfns.Table, log *slog.Logger) *resultCache {
	return &resultCache{table: t, log: log, entries: lru.New[resultKey, resultEntry](most),
		disk:    c.disk("results", "wexec result 1\n", most, 8<<20),
		running: map[resultKey]chan struct{}{}, uncacheable: map[resultKey]bool{}}
}

// find returns the entry of a key. If there is none, the caller runs the program
// and calls release after that. With share, runs of one key wait for the first
// of them.
func (c *resultCache) find(ctx context.Context, key resultKey, root string, share bool) (e resultEntry, ok bool, release func()) {
	for {
		if e, ok := c.valid(key, root); ok {
			return e, true, func() {}
		}
		c.mu.Lock()
		running := c.running[key]
		if !share || c.uncacheable[key] {
			c.mu.Unlock()
			release = func() {}
			break
		}
		if running == nil {
			done := make(chan struct{})
			c.running[key] = done
			c.mu.Unlock()
			release = func() {
				c.mu.Lock()
				delete(c.running, key)
				c.mu.Unlock()
				close(done)
			}
			break
		}
		c.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return resultEntry{}, false, func() {}
		}
	}
	if e, ok := c.onDisk(key); ok && e.fresh() && e.filesUnchanged(root) {
		c.entries.Put(key, e, e.size())
		return e, true, release
	}
	return resultEntry{}, false, release
}

// valid returns the entry of a key in memory, and removes one that is no longer
// valid.
func (c *resultCache) valid(key resultKey, root string) (resultEntry, bool) {
	e, ok := c.entries.Get(key)
	if !ok {
		return e, false
	}
	if !e.fresh() || !e.filesUnchanged(root) {
		c.entries.Remove(key)
		return e, false
	}
	return e, true
}

func (c *resultCache) onDisk(key resultKey) (e resultEntry, ok bool) {
	if key.table != c.table {
		return e, false
	}
	data, ok := c.disk.Get(key.digest)
	if ok && json.Unmarshal(data, &e) != nil {
		c.disk.Remove(key.digest)
		return resultEntry{}, false
	}
	return e, ok
}

// put stores an entry in memory and on disk.
func (c *resultCache) put(key resultKey, e resultEntry) {
	c.entries.Put(key, e, e.size())
	if key.table != c.table {
		return
	}
	data, err := json.Marshal(e)
	if err == nil {
		err = c.disk.Put(key.digest, data)
	}
	if err != nil {
		c.log.Debug("a result was not written to the cache folder", "error", err)
	}
}

// refuse notes that the runs of a key cannot be kept, so that none waits for
// another one again.
func (c *resultCache) refuse(key resultKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.uncacheable) >= maxUncacheable {
		clear(c.uncacheable)
	}
	c.uncacheable[key] = true
}

func (e *resultEntry) size() int64 {
	n := len(e.Value) + len(e.Stdout) + len(e.Stderr) + 512
	for _, f := range e.Files {
		n += len(f.Path) + 80
	}
	return int64(n)
}

func (e *resultEntry) fresh() bool { return e.Expires.IsZero() || time.Now().Before(e.Expires) }

// filesUnchanged reports whether the files that an entry depends on are what
// they were.
func (e *resultEntry) filesUnchanged(root string) bool {
	for _, f := range e.Files {
		if d, err := digestFile(root, f.Path); err != nil || d != f.Digest {
			return false
		}
	}
	return true
}

// fileDigest is a file of the program's folder as a run saw it.
type fileDigest struct {
	Path   string `json:"path"`             // below the folder, with slashes
	Digest string `json:"sha256,omitempty"` // empty: the file did not exist
}

// fileDependencies collects the files that the value of a run depends on.
type fileDependencies struct {
	root    string // folder of the host; empty: none
	paths   map[string]bool
	unknown bool // the value depends on other files too
}

// maxDependencies bounds the files of an entry.
const maxDependencies = 1000

// add notes that the program named a path.
func (d *fileDependencies) add(p string) {
	p = path.Clean(strings.TrimPrefix(p, "/"))
	first, rest, _ := strings.Cut(p, "/")
	switch first {
	case "lib", "tmp", "mcp-servers", ".", "dev": // part of the key, or the run's own
	case "app":
		switch {
		case d.root == "" || len(d.paths) >= maxDependencies:
			d.unknown = true
		case rest != "":
			if d.paths == nil {
				d.paths = map[string]bool{}
			}
			d.paths[rest] = true
		}
	default:
		d.unknown = true
	}
}

// digests returns the files with their digests. It is false if the value depends
// on more than they say.
func (d *fileDependencies) digests() ([]fileDigest, bool) {
	if d.unknown {
		return nil, false
	}
	var out []fileDigest
	for p := range d.paths {
		sum, err := digestFile(d.root, p)
		if err != nil {
			return nil, false
		}
		out = append(out, fileDigest{p, sum})
	}
	return out, true
}

// digestFile returns the digest of a file, "" if it does not exist, or "folder".
func digestFile(root, p string) (string, error) {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "folder", nil
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file")
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// caching is the part that the result cache has in one run.
type caching struct {
	key     resultKey
	release func() // lets the runs that wait for this one go on
	files   fileDependencies
	chance  bool // the program may have used the time or a random number
}
