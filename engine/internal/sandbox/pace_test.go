package sandbox

import (
	"testing"
	"time"

	"github.com/wexec/wexec/internal/meter"
)

func TestSlicesOfFuelFollowWhatTheyTake(t *testing.T) {
	f := fuelMeter{Tank: meter.Tank{Budget: 1e12}}
	now, parked := time.Now(), time.Duration(0)
	step := func(took time.Duration) int64 {
		now = f.pace(now.Add(took), parked) // later if the processor was yielded
		return f.slice()
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
	if got := f.slice(); got != minSlice {
		t.Errorf("at worst %d are granted", got)
	}
	if got := step((longSlice + shortSlice) / 2); got != minSlice {
		t.Errorf("a slice that takes what it should is followed by %d", got)
	}
	parked += 10 * time.Second // for a tool
	if got := step(10*time.Second + shortSlice/2); got != 2*minSlice {
		t.Errorf("after a slice that was short but for a wait, %d are granted", got)
	}
	for range 10 {
		step(0)
	}
	if got := f.slice(); got != meter.DefaultSlice {
		t.Errorf("at best %d are granted", got)
	}
}

func TestAGuestRestsForTheRestOfItsShare(t *testing.T) {
	var f fuelMeter
	now, busy, rested := time.Now(), time.Duration(0), time.Duration(0)
	parked := time.Duration(0)
	f.pace(now, parked)
	for range 1000 {
		now = f.pace(now.Add(time.Millisecond), parked) // later if the processor was yielded
		busy += f.took
		if d := f.rest(25); d > 0 {
			if d < restAfter {
				t.Fatalf("it rests for only %v", d)
			}
			now, parked, rested = now.Add(d), parked+d, rested+d
		}
	}
	if want := 3 * busy; rested > want || rested < want-restAfter {
		t.Errorf("it computed for %v and rested for %v", busy, rested)
	}
	for _, share := range []int{0, 100} {
		f.took = time.Hour
		if d := f.rest(share); d != 0 {
			t.Errorf("with a share of %d it rests for %v", share, d)
		}
	}
}

func TestAShortRunKeepsItsProcessor(t *testing.T) {
	var f fuelMeter
	then := time.Now().Add(-time.Minute) // the clock is read again after a yield
	for _, at := range []time.Duration{0, processorTime / 2, processorTime} {
		if got := f.pace(then.Add(at), 0); !got.Equal(then.Add(at)) {
			t.Errorf("it yielded after %v", at)
		}
	}
	if f.pace(then.Add(processorTime+1), 0); !f.yielded.After(then.Add(2 * processorTime)) {
		t.Errorf("it did not yield after %v", processorTime)
	}
}

func TestADeadlineIsSeenWhereItsTimerIsLate(t *testing.T) {
	passed := false
	d := NewDeadline(time.Hour, func() { passed = true })
	defer d.Stop()
	d.check(time.Now())
	if passed {
		t.Fatal("it passed at once")
	}
	d.Pause()
	d.check(time.Now().Add(2 * time.Hour))
	if passed {
		t.Error("time passed while the clock was stopped")
	}
	d.Resume()
	d.check(time.Now().Add(2 * time.Hour))
	if !passed {
		t.Error("it waits for its timer")
	}
}

func TestADeadlineStandsStillWhileItIsPaused(t *testing.T) {
	const limit = 300 * time.Millisecond
	over := make(chan time.Time, 1)
	for begun := time.Now(); ; begun = time.Now() {
		d := NewDeadline(limit, func() { over <- time.Now() })
		d.Pause()
		d.Pause()
		if time.Since(begun) > limit/2 { // the machine did something else
			d.Stop()
			over = make(chan time.Time, 1)
			continue
		}
		time.Sleep(limit + limit/3)
		d.Resume()
		select {
		case <-over:
			t.Fatal("it passed while it was paused")
		default:
		}
		d.Resume()
		if took := (<-over).Sub(begun); took < 2*limit {
			t.Errorf("it passed after %s", took)
		}
		break
	}
	for {
		begun := time.Now()
		d := NewDeadline(limit, func() { over <- time.Now() })
		d.Stop()
		if time.Since(begun) < limit/2 {
			break
		}
		over = make(chan time.Time, 1)
	}
	time.Sleep(limit + limit/3)
	if len(over) > 0 {
		t.Error("it passed after it was stopped")
	}
}

func TestHintsProposeTheNextPowerOfTwo(t *testing.T) {
	for n, want := range map[int64]int64{0: 1, 1: 2, 3: 4, 4: 8, 1 << 20: 2 << 20} {
		if got := RoundUp(n); got != want {
			t.Errorf("above %d: %d", n, got)
		}
	}
}
