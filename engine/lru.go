package engine

import (
	"container/list"
	"maps"
	"slices"
	"sync"
)

// lru is a map bounded in bytes: entries that were not used for longest are
// removed first. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	max int64

	mu    sync.Mutex
	byKey map[K]*list.Element
	used  *list.List // of *lruEntry, the latest first
	bytes int64
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

func newLRU[K comparable, V any](most int64) *lru[K, V] {
	return &lru[K, V]{max: most, byKey: map[K]*list.Element{}, used: list.New()}
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.byKey[key]
	if el == nil {
		return value, false
	}
	c.used.MoveToFront(el)
	return el.Value.(*lruEntry[K, V]).value, true
}

// put stores a value of a size, unless it takes more than a quarter of the
// cache.
func (c *lru[K, V]) put(key K, value V, size int64) {
	if size > c.max/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byKey[key])
	c.byKey[key] = c.used.PushFront(&lruEntry[K, V]{key, value, size})
	for c.bytes += size; c.bytes > c.max; {
		c.drop(c.used.Back())
	}
}

func (c *lru[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byKey[key])
}

// removeIf removes the entries that match selects.
func (c *lru[K, V]) removeIf(match func(V) bool) {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.byKey))
	c.mu.Unlock()
	for _, el := range all {
		if e := el.Value.(*lruEntry[K, V]); match(e.value) {
			c.remove(e.key)
		}
	}
}

func (c *lru[K, V]) drop(el *list.Element) {
	if el == nil {
		return
	}
	e := c.used.Remove(el).(*lruEntry[K, V])
	delete(c.byKey, e.key)
	c.bytes -= e.size
}
