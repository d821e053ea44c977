package engine

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
)

// TestABriefRunStartsNoGoroutine bounds what a brief run costs where processors
// are idle: each goroutine that it starts wakes one of them, which takes longer
// than most of what the goroutine would do. Python's memory takes longer to clean
// than that: one goroutine may do it, where there is a processor for it.
func TestABriefRunStartsNoGoroutine(t *testing.T) {
	if testing.Short() {
		t.Skip("short: measures for seconds")
	}
	const runs = 60
	for name, c := range map[string]Config{"fresh": {Ready: -1}, "ready": {Ready: 3 * runs}} {
		for _, language := range []string{JavaScript, Python} {
			t.Run(name+" "+language, func(t *testing.T) {
				e := newReal(t, c)
				if err := e.Warm(context.Background(), nil, language); err != nil {
					t.Fatal(err)
				}
				least := uint64(math.MaxUint64)
				for range runs { // where the machine is busy, not all of them are brief
					before := goroutinesStarted()
					if _, err := e.Run(context.Background(), Request{Language: language, Code: "1+1"}); err != nil {
						t.Fatal(err)
					}
					least = min(least, goroutinesStarted()-before)
				}
				allowed := uint64(0)
				if language == Python && runtime.GOMAXPROCS(0) > 1 {
					allowed = 1
				}
				if least > allowed {
					t.Errorf("each run started %d goroutines or more; %d are allowed", least, allowed)
				}
			})
		}
	}
}

// goroutinesStarted counts the goroutines that this process has started so far.
func goroutinesStarted() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
