package cli

import (
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/config"
)

// A run has no command but its own, with the flags that help and the documents
// show.
func TestARunHasTheFlagsOfItsHelp(t *testing.T) {
	commandsOf := func(args ...string) *app {
		return newApp(&Invocation{Args: append([]string{"wexec"}, args...), Stdout: io.Discard, Stderr: io.Discard, Env: &config.Environment{}})
	}
	lean, whole := commandsOf("run", "x.js").commandLine().Commands, commandsOf("run", "--help").commandLine().Commands
	if len(lean) != 1 || len(whole) < 10 || lean[0].Name != "run" {
		t.Fatalf("%d and %d commands", len(lean), len(whole))
	}
	if got, want := commandline.FlagNames(lean[0]), commandline.FlagNames(whole[0]); !slices.Equal(got, want) {
		t.Errorf("flags %q, shown %q", got, want)
	}
}

func TestTheCollectorWaitsUntilItIsNeeded(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	delayCollector()
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

func TestASettingOfTheCollectorStays(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(-1)
	delayCollector()
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("a collector that is off is switched on at %d", got)
	}
}
