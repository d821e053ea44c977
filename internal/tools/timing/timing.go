// Package timing holds tests to times on machines that do other work as well.
package timing

import (
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// tries is how often a test measures, and rest what it waits between two tries, so
// that another process that takes the machine does not spoil all of them.
const (
	tries = 20
	rest  = 20 * time.Millisecond
)

// raceFactor is how much slower code may be with the race detector.
const raceFactor = 10

// Race reports whether the program was built with the race detector, with which
// it takes several times the time and memory.
func Race() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Within fails the test if measure returns more than most every time it is called.
// What is slow by itself is slow each time; what the machine slows is not.
func Within(t testing.TB, most time.Duration, what string, measure func() time.Duration) {
	t.Helper()
	if Race() {
		most *= raceFactor
	}
	best := measure()
	for range tries - 1 {
		if best <= most || t.Failed() {
			break
		}
		time.Sleep(rest)
		best = min(best, measure())
	}
	if best > most {
		t.Errorf("%s: %v, want at most %v", what, best, most)
	}
}

// Of returns how long f takes.
func Of(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}
