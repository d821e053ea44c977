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

// A quarter of what a run costs is page faults: each page of the program and of
// Go's memory that it touches first is one. So this holds what is done between
// the start of main and the end of a brief run, whatever the load; what comes
// before main is what telling the version takes.
func TestARunTouchesFewPages(t *testing.T) {
	if testing.Short() {
		t.Skip("the guest is compiled")
	}
	if runtime.GOARCH != "amd64" || os.Getpagesize() != 4096 {
		t.Skip("counted on another machine")
	}
	const most = 500
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	faults := func(args ...string) int64 {
		least := int64(math.MaxInt64)
		for range 11 { // the first one lays what is missing
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
	t.Logf("%d page faults, %d of them to tell the version", run, version)
	if run-version > most {
		t.Errorf("a run takes %d page faults more than to tell the version; %d are allowed", run-version, most)
	}
}
