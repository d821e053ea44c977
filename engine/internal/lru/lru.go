// Package lru has a map that is bounded in bytes.
package lru

import (
	"container/list"
	"maps"
	"slices"
	"sync"
)

// Map is a map bounded in bytes: entries that were not used for longest are
// removed first. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	max int64

	mu    sync.Mutex
	byKey map[K]*list.Element
	used  *list.List // of *entry, the latest first
	bytes int64
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns a map of at most so many bytes.
func New[K comparable, V any](most int64) *Map[K, V] {
	return &Map[K, V]{max: most, byKey: map[K]*list.Element{}, used: list.New()}
}

// Get returns a value, which counts as used.
func (c *Map[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.byKey[key]
	if el == nil {
		return value, false
	}
	c.used.MoveToFront(el)
	return el.Value.(*entry[K, V]).value, true
}

// Put stores a value of a size, unless it takes more than a quarter of the
// cache.
func (c *Map[K, V]) Put(key K, value V, size int64) {
	if size > c.max/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byKey[key])
	c.byKey[key] = c.used.PushFront(&entry[K, V]{key, value, size})
	for c.bytes += size; c.bytes > c.max; {
		c.drop(c.used.Back())
	}
}

// Remove removes a value.
func (c *Map[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byKey[key])
}

// RemoveIf removes the entries that match selects.
func (c *Map[K, V]) RemoveIf(match func(V) bool) {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.byKey))
	c.mu.Unlock()
	for _, el := range all {
		if e := el.Value.(*entry[K, V]); match(e.value) {
			c.Remove(e.key)
		}
	}
}

func (c *Map[K, V]) drop(el *list.Element) {
	if el == nil {
		return
	}
	e := c.used.Remove(el).(*entry[K, V])
	delete(c.byKey, e.key)
	c.bytes -= e.size
}

// Max is the number of bytes that the map may have.
func (c *Map[K, V]) Max() int64 { return c.max }

// Bytes is the number of bytes that the map has.
func (c *Map[K, V]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
