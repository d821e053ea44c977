package engine

import (
	"math"
	"math/bits"
	"strconv"
)

// size writes bytes the way flags take them: 64MiB, 1500B.
func size(n int64) string {
	for _, u := range []struct {
		name  string
		shift int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// count writes a number the way flags take it.
func count(n int64) string { return strconv.FormatInt(n, 10) }

// roundUp is the next power of two above n: what a hint proposes.
func roundUp(n int64) int64 {
	if n < 0 || n >= math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 1 << bits.Len64(uint64(n))
}
