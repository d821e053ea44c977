package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// A program that computes reports its fuel a few times a second, and the last
// event has the total.
func TestProgressReportsFuelNowAndThen(t *testing.T) {
	const interval = 200 * time.Millisecond
	e := newTiny(t, Config{})
	var fuel []int64
	var last int64
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	begun := time.Now()
	res, err := e.Run(ctx, Request{Language: JavaScript, Code: "l 0", Limits: Limits{Time: time.Minute}, Progress: func(e Event) {
		if last = e.Fuel; e.Type == EventFuel {
			if fuel = append(fuel, e.Fuel); len(fuel) == 4 {
				enough()
			}
		}
	}})
	wantCode(t, err, fault.Cancelled)
	most := int(time.Since(begun)/interval) + 1
	if len(fuel) < 4 || len(fuel) > most || fuel[0] <= 0 || !slices.IsSorted(fuel) {
		t.Errorf("%d events of fuel, wanted 4 to %d: %v", len(fuel), most, fuel)
	}
	if last != res.Usage.Fuel || last < fuel[len(fuel)-1] {
		t.Errorf("the last event says %d, the result %d", last, res.Usage.Fuel)
	}
}

func TestSlicesDoNotChangeWhatIsCharged(t *testing.T) {
	e := newTiny(t, Config{})
	var first int64
	for n := range 3 {
		res, err := tiny(t, e, "l 3000000\nv 1", func(r *Request) { r.Deterministic, r.Cache = true, new(bool) })
		wantValue(t, res, err, "1")
		if n == 0 {
			first = res.Usage.Fuel
		}
		if res.Usage.Fuel != first {
			t.Errorf("%d and %d", first, res.Usage.Fuel)
		}
	}
}
