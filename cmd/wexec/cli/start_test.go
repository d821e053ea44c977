package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTheCollectorIsHeldUntilItIsNeeded(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	holdCollector()
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Errorf("the collector runs at %d %% from the start", got)
	}
	runtime.GC() // as when the memory is used up
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if debug.SetMemoryLimit(-1) == limit {
			break
		}
	}
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the memory limit stays at %d", got)
	}
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("the collector stays at %d %%", got)
	}
}

func TestASettingOfTheCollectorHolds(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(-1)
	holdCollector()
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("a collector that is off is switched on at %d", got)
	}
}
