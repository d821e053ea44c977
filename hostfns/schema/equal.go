package schema

import (
	"hash/maphash"
	"slices"
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
