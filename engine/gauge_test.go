package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// A program that computes tells of its fuel a few times a second, and the last
// event has what it used in all.
func TestProgressTellsOfFuelNowAndThen(t *testing.T) {
	e := newTiny(t, Config{})
	var fuel []int64
	var last int64
	begun := time.Now()
	res, err := tiny(t, e, "l 0", func(r *Request) {
		r.Limits.Time = 900 * time.Millisecond
		r.Progress = func(e Event) {
			if last = e.Fuel; e.Type == EventFuel {
				fuel = append(fuel, e.Fuel)
			}
		}
	})
	wantCode(t, err, fault.LimitTime)
	most := int(time.Since(begun)/gaugeEvery) + 1
	if len(fuel) < 2 || len(fuel) > most || fuel[0] <= 0 || !slices.IsSorted(fuel) {
		t.Errorf("%d events of fuel, wanted 2 to %d: %v", len(fuel), most, fuel)
	}
	if last != res.Usage.Fuel || last < fuel[len(fuel)-1] {
		t.Errorf("the last event says %d, the result %d", last, res.Usage.Fuel)
	}
}
