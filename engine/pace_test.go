package engine

import (
	"context"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
)

func TestSlicesOfFuelFollowWhatTheyTake(t *testing.T) {
	r := &run{ctx: context.Background(), tank: meter.Tank{Budget: 1e12}}
	r.time = newDeadline(time.Hour, func() {})
	defer r.time.stop()
	now := time.Now()
	step := func(took time.Duration) int64 {
		now = now.Add(took)
		r.pace(now)
		now = r.sliced // it may have waited for its turn
		return r.slice()
	}
	if got := step(0); got != meter.DefaultSlice {
		t.Errorf("it begins with %d", got)
	}
	if got := step(longSlice + 1); got != meter.DefaultSlice/2 {
		t.Errorf("after a long slice %d are granted", got)
	}
	for range 10 {
		step(longSlice + 1)
	}
	if got := r.slice(); got != leastSlice {
		t.Errorf("at worst %d are granted", got)
	}
	if got := step((longSlice + shortSlice) / 2); got != leastSlice {
		t.Errorf("a slice that takes what it should is followed by %d", got)
	}
	r.parked += 10 * time.Second // a tool was waited for
	if got := step(10*time.Second + shortSlice/2); got != 2*leastSlice {
		t.Errorf("after a slice that was short but for a wait, %d are granted", got)
	}
	for range 10 {
		step(0)
	}
	if got := r.slice(); got != meter.DefaultSlice {
		t.Errorf("at best %d are granted", got)
	}
}

func TestAShortRunKeepsItsProcessor(t *testing.T) {
	r := &run{ctx: context.Background(), tank: meter.Tank{Budget: 1e12}}
	r.time = newDeadline(time.Hour, func() {})
	defer r.time.stop()
	then := time.Now().Add(-time.Minute) // who yields looks at the clock again
	for _, at := range []time.Duration{0, turn / 2, turn} {
		if r.pace(then.Add(at)); !r.sliced.Equal(then.Add(at)) {
			t.Errorf("it yielded after %v", at)
		}
	}
	if r.pace(then.Add(turn + 1)); !r.yielded.After(then.Add(2 * turn)) {
		t.Error("it did not yield when its turn was over")
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

func TestADeadlineIsSeenWhereItsTimerIsLate(t *testing.T) {
	var passed *fault.Error
	d := newDeadline(time.Hour, func() { passed = timeOver(time.Hour) })
	defer d.stop()
	d.look(time.Now())
	if passed != nil {
		t.Fatal("it passed at once")
	}
	d.pause()
	d.look(time.Now().Add(2 * time.Hour))
	if passed != nil {
		t.Error("it passed while it stood still")
	}
	d.resume()
	d.look(time.Now().Add(2 * time.Hour))
	if passed == nil {
		t.Error("it waits for its timer")
	}
}
