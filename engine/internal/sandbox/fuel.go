package sandbox

import (
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wexec/wexec/internal/meter"
)

const (
	// processorTime is how long a guest keeps its processor before others may
	// have it.
	processorTime = time.Millisecond
	// A slice of fuel takes between shortSlice and longSlice: slices get smaller
	// and larger again if the machine is slow, or if the program does what takes
	// longer than it is charged for. The charge stays the same.
	longSlice, shortSlice = 2 * time.Millisecond, time.Millisecond / 2
	minSlice              = meter.DefaultSlice / 32

	// fuelInterval is the time between two reports of fuel.
	fuelInterval = 200 * time.Millisecond
)

// fuelMeter grants fuel in slices, so that a guest cannot occupy its processor:
// compiled code cannot be interrupted, and the collector, timers and other
// guests wait for it.
type fuelMeter struct {
	meter.Tank
	level    api.MutableGlobal // fuel left, in the guest
	sliced   time.Time         // when the guest got its current slice
	took     time.Duration     // by its last slice, if that is not counted yet
	parked   time.Duration     // how long the run had been parked by then
	yielded  time.Time         // when others could last have the processor
	reported time.Time
	owed     time.Duration // how long the guest has to rest, to use only its share of a core
}

// pace adjusts the size of slices and yields the processor. It returns the time
// after that; parked is how long the run has been parked in all.
func (f *fuelMeter) pace(now time.Time, parked time.Duration) time.Time {
	if f.sliced.IsZero() {
		f.yielded = now // yielding at once would wake an idle processor
	} else {
		f.took = now.Sub(f.sliced) - (parked - f.parked)
		switch {
		case f.took > longSlice:
			f.Slice = max(f.slice()/2, minSlice)
		case f.took < shortSlice:
			f.Slice = min(f.slice()*2, meter.DefaultSlice)
		}
	}
	if now.Sub(f.yielded) > processorTime {
		runtime.Gosched()
		now = time.Now()
		f.yielded = now
	}
	f.sliced, f.parked = now, parked
	return now
}

// restAfter is how long a guest may owe rest until it takes it.
const restAfter = 10 * time.Millisecond

// rest returns how long a guest has to rest now that has a share of a core, in
// percent; 0 is all of it.
func (f *fuelMeter) rest(share int) time.Duration {
	if share <= 0 || share >= 100 {
		return 0
	}
	f.owed += f.took * time.Duration(100-share) / time.Duration(share)
	f.took = 0
	if f.owed < restAfter {
		return 0
	}
	rest := f.owed
	f.owed = 0
	return rest
}

// slice returns how much fuel is granted at once.
func (f *fuelMeter) slice() int64 {
	if f.Slice == 0 {
		return meter.DefaultSlice
	}
	return f.Slice
}

// charge takes n units for work of the host. The guest notices at its next
// charge point if that was all it had.
func (f *fuelMeter) charge(n int64) { f.level.Set(uint64(int64(f.level.Get()) - n)) }

// report reports whether it is time to report the fuel again.
func (f *fuelMeter) report(now time.Time) bool {
	if now.Sub(f.reported) < fuelInterval {
		return false
	}
	f.reported = now
	return true
}
