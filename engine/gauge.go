package engine

import (
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/internal/meter"
)

// gauge shows the fuel of a run to who listens to its events. It belongs to
// the goroutine of the guest; a nil one shows nothing.
type gauge struct {
	used  *atomic.Int64 // what the events of other goroutines say
	level func() uint64 // the guest's fuel global
	tell  func()        // of what was used
	told  time.Time
}

// gaugeEvery is how long a program computes before its fuel is told again.
const gaugeEvery = 200 * time.Millisecond

// read takes note of the fuel exactly, as a call wants it.
func (g *gauge) read(tank *meter.Tank) {
	if g != nil {
		g.used.Store(tank.Used(int64(g.level())))
	}
}

// refilled takes note of the fuel where a slice is used up, and tells of it
// now and then.
func (g *gauge) refilled(now time.Time, used int64) {
	if g == nil {
		return
	}
	g.used.Store(used)
	if now.Sub(g.told) >= gaugeEvery {
		g.told = now
		g.tell()
	}
}
