package schema

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
)

// hash returns a number that is the same for equal values.
func (c *check) hash(seed maphash.Seed, v any) uint64 {
	if !c.spend(visit) {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	switch v := v.(type) {
	case string:
		c.spend(len(v) / 8)
		return maphash.String(seed, v)
	case []any:
		for _, e := range v {
			maphash.WriteComparable(&h, c.hash(seed, e))
		}
	case map[string]any:
		var sum uint64 // in any order
		for name, e := range v {
			c.spend(len(name) / 8)
			sum += maphash.Comparable(seed, [2]uint64{maphash.String(seed, name), c.hash(seed, e)})
		}
		maphash.WriteComparable(&h, sum)
	default:
		return maphash.Comparable(seed, v)
	}
	return h.Sum64()
}

// equal reports whether two values with the numbers of package jsonnum are equal.
func (c *check) equal(a, b any) bool {
	if !c.spend(1) {
		return false
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for _, name := range c.sorted(a, nil) { // so that the same values take the same work
			if w, ok := b[name]; !ok || !c.equal(a[name], w) {
				return false
			}
		}
		return c.err == nil
	case string:
		b, ok := b.(string)
		if !ok || len(a) != len(b) {
			return false
		}
		c.spend(len(a) / 32)
		return a == b
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// sorted appends the names of an object, sorted.
func (c *check) sorted(v map[string]any, names []string) []string {
	if !c.spend(len(v) * bits.Len(uint(len(v)))) {
		return nil
	}
	length := 0
	for name := range v {
		length += len(name)
		names = append(names, name)
	}
	c.spend(length / 4)
	if len(names) <= 64 {
		slices.Sort(names)
		return names
	}
	compared := 0 // how often depends on the order in the map
	slices.SortFunc(names, func(a, b string) int {
		if compared++; compared%1024 == 0 {
			c.look()
		}
		if c.err != nil {
			return 0
		}
		return strings.Compare(a, b)
	})
	return names
}
