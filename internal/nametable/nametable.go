// Package nametable stores the roles of many names in little space: a hash table of
// three bytes for each name that is read in place, without decoding. It keeps
// fingerprints, not names: one word in some hundred thousand is taken for another.
package nametable

import (
	"fmt"
	"maps"
	"slices"
)

// Role is a set of bits.
type Role uint8

// What a word can be in a name. A weak name is an ordinary word or a place too, or
// rare.
const (
	First Role = 1 << iota
	Last
	WeakFirst
	WeakLast
)

// MaxName is the length of the longest name in bytes.
const MaxName = 32

const (
	slotBits = 17
	slotSize = 3
	roleBits = 4
)

// hash is the FNV-1a hash of a name.
func hash(name []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range name {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// place returns the first slot of a name and its fingerprint.
func place(name []byte) (slot, fingerprint uint32) {
	h := hash(name)
	return uint32(h >> (64 - slotBits)), uint32(h>>8) & (1<<(8*slotSize-roleBits) - 1)
}

// Lookup returns the roles of a name in small letters, 0 if it is not in the table.
func Lookup(table string, name []byte) Role {
	slot, fingerprint := place(name)
	for {
		at := slotSize * slot
		s := table[at : at+slotSize]
		v := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16
		if v == 0 {
			return 0
		}
		if v>>roleBits == fingerprint {
			return Role(v & (1<<roleBits - 1))
		}
		slot = (slot + 1) & (1<<slotBits - 1)
	}
}

// Encode writes a table.
func Encode(roles map[string]Role) ([]byte, error) {
	if len(roles) > 1<<slotBits*4/5 {
		return nil, fmt.Errorf("%d names do not fit", len(roles))
	}
	table := make([]byte, slotSize<<slotBits)
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		slot, fingerprint := place([]byte(name))
		v := fingerprint<<roleBits | uint32(roles[name])
		for {
			s := table[slotSize*slot:][:slotSize]
			if s[0]|s[1]|s[2] == 0 {
				s[0], s[1], s[2] = byte(v), byte(v>>8), byte(v>>16)
				break
			}
			slot = (slot + 1) & (1<<slotBits - 1)
		}
	}
	return table, nil
}
