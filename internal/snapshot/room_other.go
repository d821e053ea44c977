//go:build !(linux && (amd64 || arm64))

package snapshot

import "math"

// Room says how many instances, each with limit bytes of address space reserved
// for it, the machine lets this process have beside what it holds already, and
// what the bound is. Here memories are copies on Go's heap: it is unbounded.
func Room(uint64) (instances int, bound string) { return math.MaxInt32, "" }

// Left says how many bytes of address space this process may have beside what
// it has, and whether anything bounds them but the processor.
func Left() (bytes uint64, limited bool) { return math.MaxUint64, false }
