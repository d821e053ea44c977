package meter

// DefaultSlice is the default of Tank.Slice:
// some tenths of a millisecond of guest time.
const DefaultSlice = 1_000_000

// Tank is the host's side of the fuel global: it grants a budget in slices.
// The size of a slice changes only how often the guest calls the host.
// A Tank is for one run and is not safe for concurrent use.
type Tank struct {
	Budget int64 // total fuel
	Slice  int64 // fuel per grant; zero means DefaultSlice

	granted int64
}

// Refill implements the refill import. level is the guest's argument, a
// debt if negative; the result is the new level. It returns false if the
// budget does not cover what was used: then the host must not let the guest
// continue, but panic with an error. A budget of n is enough for a program that
// uses n, and n-1 is not.
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

// Settle reports, after the guest returned, whether the budget covers what it
// used: not every charge is followed by a check, so a guest can
// return with a debt.
func (t *Tank) Settle(level int64) bool { return t.Used(level) <= t.Budget }

// Used returns the fuel that was charged so far; level is the value of the
// fuel global.
func (t *Tank) Used(level int64) int64 { return t.granted - level }
