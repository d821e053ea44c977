package tests

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestARunTouchesFewPages limits the page faults of a short run after main starts.
// They are a quarter of its cost and do not depend on the load. The faults of
// wexec version are those before main.
func TestARunTouchesFewPages(t *testing.T) {
	if testing.Short() {
		t.Skip("short: compiles the guest")
	}
	if runtime.GOARCH != "amd64" || os.Getpagesize() != 4096 {
		t.Skip("needs amd64 with pages of 4 KiB")
	}
	const most = 500
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	faults := func(args ...string) int64 {
		least := int64(math.MaxInt64)
		for range 11 { // the first run fills the caches
			cmd := exec.Command(testenv.Program(t, "wexec"), args...)
			cmd.Env, cmd.Dir = env, home
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%q: %v: %s", args, err, out)
			}
			least = min(least, cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt)
		}
		return least
	}
	run, version := faults("run", "-l", "js", "-e", "1+1"), faults("version")
	t.Logf("%d page faults, %d of them for wexec version", run, version)
	if run-version > most {
		t.Errorf("a run has %d page faults more than wexec version; %d are allowed", run-version, most)
	}
}
