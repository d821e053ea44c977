package engine

import (
	"context"
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
	most := int(time.Since(begun)/gaugeEvery) + 1
	if len(fuel) < 4 || len(fuel) > most || fuel[0] <= 0 || !slices.IsSorted(fuel) {
		t.Errorf("%d events of fuel, wanted 4 to %d: %v", len(fuel), most, fuel)
	}
	if last != res.Usage.Fuel || last < fuel[len(fuel)-1] {
		t.Errorf("the last event says %d, the result %d", last, res.Usage.Fuel)
	}
}
