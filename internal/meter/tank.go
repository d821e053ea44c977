package meter

// DefaultSlice is how much fuel a [Tank] grants at once when Slice is zero:
// some tenths of a millisecond of guest time.
const DefaultSlice = 1_000_000

// Tank is the host's side of the fuel global: it hands a budget out in slices.
// The size of a slice changes how often the guest comes back to the host, and
// nothing else. A Tank serves one run; it is not safe for concurrent use.
type Tank struct {
	Budget int64 // what may be used in all
	Slice  int64 // what is granted at once; zero is DefaultSlice

	granted int64
}

// Refill is the core of the refill import. level is what the guest passed, a
// debt below zero; the result is the level to go on with. It is false when the
// budget does not cover what was used: then the host must not let the guest
// go on, but panic with an error of its own. Fuel n lets a program pass that
// uses n, and n-1 does not.
func (t *Tank) Refill(level int64) (int64, bool) {
	slice := t.Slice
	if slice <= 0 {
		slice = DefaultSlice
	}
	left := t.Budget - t.granted
	if level < -left || left < 0 {
		return level, false
	}
	grant := slice
	if level < 0 && slice < -level {
		grant = -level
	}
	grant = min(grant, left)
	t.granted += grant
	return level + grant, true
}

// Settle says, after the guest returned, whether the budget covers what it
// used: not every charge is followed by a look at the level, so a guest can
// come back with a debt.
func (t *Tank) Settle(level int64) bool { return t.Used(level) <= t.Budget }

// Used is the fuel that was charged so far, where level is the value of the
// fuel global.
func (t *Tank) Used(level int64) int64 { return t.granted - level }
