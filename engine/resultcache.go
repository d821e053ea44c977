package engine

import (
	"container/list"
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/wexec/wexec/hostfns"
)

// resultCache keeps values of programs that certainly give them again: those
// that called no tool and were deterministic, and those whose every call may
// be reused as its rule says.
type resultCache struct {
	e    *Engine
	disk *shelf // nil: none
	most int64  // bytes in memory; 0: the cache is off

	mu      sync.Mutex
	byKey   map[resultKey]*list.Element
	used    *list.List // of *kept, latest first
	bytes   int64
	flights map[resultKey]*flight
	vain    map[resultKey]time.Time // runs that turned out not to be cacheable
}

// resultKey is everything the answer depends on. The table is part of it: two
// tenants never share an answer.
type resultKey struct {
	table  *hostfns.Table
	digest string // of the rest, in hex
}

// kept is one entry.
type kept struct {
	key   resultKey
	entry resultEntry
	size  int64
}

// resultEntry is what is kept of a run.
type resultEntry struct {
	Value   json.RawMessage `json:"value"`
	Stdout  string          `json:"stdout,omitempty"`
	Stderr  string          `json:"stderr,omitempty"`
	Tools   []string        `json:"tools,omitempty"`
	Expires time.Time       `json:"expires,omitzero"` // zero: never
	Files   []seenFile      `json:"files,omitempty"`  // of the program's folder that it looked at
}

// flight is a run whose twins wait for it.
type flight struct{ done chan struct{} }

// maxVain bounds how many runs are remembered as not cacheable.
const maxVain = 4096

func newResultCache(e *Engine) *resultCache {
	c := &resultCache{e: e, most: max(e.config.Results, 0), byKey: map[resultKey]*list.Element{}, used: list.New(),
		flights: map[resultKey]*flight{}, vain: map[resultKey]time.Time{}}
	if c.most > 0 && e.cache.dir != "" {
		c.disk = &shelf{dir: filepath.Join(e.cache.dir, "results"), magic: "wexec result 1\n", most: c.most, each: 8 << 20}
	}
	return c
}

// find gives the entry of a key. Where there is none, the caller is to run the
// program and then call land; twins of a run that may be kept wait for it
// first.
func (c *resultCache) find(ctx context.Context, key resultKey, root string, twins bool) (e resultEntry, ok bool, land func()) {
	land = func() {}
	for {
		c.mu.Lock()
		if e, ok = c.inMemory(key); ok {
			c.mu.Unlock()
			if e.holds(root) {
				return e, true, land
			}
			c.forget(key)
			return resultEntry{}, false, land
		}
		_, vain := c.vain[key]
		f := c.flights[key]
		if f == nil || vain || !twins {
			if twins && !vain {
				f = &flight{done: make(chan struct{})}
				c.flights[key] = f
				land = func() {
					c.mu.Lock()
					delete(c.flights, key)
					c.mu.Unlock()
					close(f.done)
				}
			}
			c.mu.Unlock()
			break
		}
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return resultEntry{}, false, land
		}
	}
	if c.disk != nil && key.table == c.e.table {
		if e, ok := c.onDisk(key.digest); ok && e.valid() && e.holds(root) {
			c.remember(key, e)
			return e, true, land
		}
	}
	return resultEntry{}, false, land
}

// inMemory looks an entry up. The lock is held.
func (c *resultCache) inMemory(key resultKey) (resultEntry, bool) {
	el := c.byKey[key]
	if el == nil {
		return resultEntry{}, false
	}
	k := el.Value.(*kept)
	if !k.entry.valid() {
		c.remove(el)
		return resultEntry{}, false
	}
	c.used.MoveToFront(el)
	return k.entry, true
}

// onDisk looks an entry up in the cache folder.
func (c *resultCache) onDisk(digest string) (e resultEntry, ok bool) {
	data, ok := c.disk.read(digest)
	if ok && json.Unmarshal(data, &e) != nil {
		c.disk.remove(digest)
		return resultEntry{}, false
	}
	return e, ok
}

// keep stores an entry.
func (c *resultCache) keep(key resultKey, e resultEntry) {
	c.remember(key, e)
	if c.disk != nil && key.table == c.e.table {
		data, err := json.Marshal(e)
		if err == nil {
			err = c.disk.write(key.digest, data)
		}
		if err != nil {
			c.e.log.Debug("a result is not kept on disk", "error", err)
		}
	}
}

// refuse notes that the runs of a key cannot be kept, so that no twin waits
// for nothing again.
func (c *resultCache) refuse(key resultKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.vain) >= maxVain {
		clear(c.vain)
	}
	c.vain[key] = time.Now()
}

func (c *resultCache) remember(key resultKey, e resultEntry) {
	size := e.size()
	if size > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.byKey[key]; el != nil {
		c.remove(el)
	}
	c.byKey[key] = c.used.PushFront(&kept{key: key, entry: e, size: size})
	c.bytes += size
	for c.bytes > c.most {
		c.remove(c.used.Back())
	}
}

func (c *resultCache) forget(key resultKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.byKey[key]; el != nil {
		c.remove(el)
	}
}

// remove drops an entry. The lock is held.
func (c *resultCache) remove(el *list.Element) {
	k := c.used.Remove(el).(*kept)
	delete(c.byKey, k.key)
	c.bytes -= k.size
}

func (c *resultCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used.Init()
	clear(c.byKey)
	c.bytes = 0
}

func (e *resultEntry) size() int64 {
	n := len(e.Value) + len(e.Stdout) + len(e.Stderr) + 512
	for _, f := range e.Files {
		n += len(f.Path) + 80
	}
	return int64(n)
}

func (e *resultEntry) valid() bool { return e.Expires.IsZero() || time.Now().Before(e.Expires) }
