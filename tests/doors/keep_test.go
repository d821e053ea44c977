//go:build linux

package doors

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testpg"
)

// keeping is a folder with a program that writes and goes on, and a store.
type keeping struct {
	t   *testing.T
	dir string
	env []string
}

func newKeeping(t *testing.T) *keeping {
	dir, env := furnished(t, "")
	write(t, filepath.Join(dir, "long.js"), `console.log("begun"); for (;;) {}`)
	return &keeping{t, dir, append(env, "WEXEC_STORE="+testpg.Store(t))}
}

// start begins a run that is kept and goes on, and returns it with its id.
func (k *keeping) start() (cmd *exec.Cmd, says *lockedBuffer, id string) {
	k.t.Helper()
	cmd, says = command(k.t.Context(), k.dir, k.env, "run", "--keep", "--time", "10m", "--fuel", "1e15", "long.js"), &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = says, says
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	k.until(time.Minute, "the run is not listed", func() bool {
		if active := k.active(); len(active) == 1 {
			id = active[0]
		}
		return id != ""
	})
	return cmd, says, id
}

// active are the runs that wexec ps lists.
func (k *keeping) active() (ids []string) {
	var list struct {
		Runs []struct {
			RunID string `json:"run_id"`
		} `json:"runs"`
	}
	out, err := command(k.t.Context(), k.dir, k.env, "ps", "--json").Output()
	if err != nil { // the first run is making the store
		return nil
	}
	if err := json.Unmarshal(out, &list); err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	for _, r := range list.Runs {
		ids = append(ids, r.RunID)
	}
	return ids
}

func (k *keeping) until(most time.Duration, what string, state func() bool) {
	k.t.Helper()
	for end := time.Now().Add(most); !state(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatal(what)
		}
	}
}

// of prints what a command prints, on both streams.
func (k *keeping) of(args ...string) string {
	out, _ := command(k.t.Context(), k.dir, k.env, args...).CombinedOutput() // its output says what failed
	return string(out)
}

func TestARunThatIsKeptIsFollowedAndEndedByOtherProcesses(t *testing.T) {
	k := newKeeping(t)
	cmd, says, id := k.start()
	follow, seen := command(t.Context(), k.dir, k.env, "logs", "--follow", id), &lockedBuffer{}
	follow.Stdout, follow.Stderr = seen, seen
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	k.until(time.Minute, "the output is not in the store", func() bool { return strings.Contains(seen.String(), "begun") })
	if out := k.of("kill", id); out != "cancelled "+id+"\n" {
		t.Fatal(out)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(says.String(), "the run was cancelled [cancelled]") {
		t.Errorf("%v: %s", err, says)
	}
	if err := follow.Wait(); err != nil || !strings.Contains(seen.String(), "the run was cancelled [cancelled]") {
		t.Errorf("%v: %s", err, seen)
	}
	if active := k.active(); len(active) != 0 {
		t.Errorf("%q are active", active)
	}
}

func TestARunOfAKilledCommandEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for the end of a lease")
	}
	k := newKeeping(t)
	cmd, _, id := k.start()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	k.until(time.Minute, "the run is still active", func() bool { return len(k.active()) == 0 })
	if out := k.of("logs", "--follow", id); !strings.Contains(out, "begun") || !strings.Contains(out, "the process that ran the program stopped") {
		t.Error(out)
	}
	if out := k.of("store", "check"); !strings.Contains(out, ": 0 faults") {
		t.Error(out)
	}
}

// The machine of a person sleeps, so a lease that expired is still held if no process
// has taken it over.
func TestARunGoesOnAfterItsProcessWasSuspended(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for the end of a lease")
	}
	k := newKeeping(t)
	write(t, filepath.Join(k.dir, "long.js"), `console.log("begun"); for (let i = 0; i < 4e8; i++) {} console.log("done")`)
	cmd, says, id := k.start()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Second) // a lease lasts 15
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.HasSuffix(says.String(), "done\n") {
		t.Errorf("%v: %s", err, says)
	}
	if out := k.of("logs", id); !strings.Contains(out, "done\n") || !strings.Contains(out, ": ok") {
		t.Error(out)
	}
}

// A server and commands share a data folder. The server ends what a command left, runs
// nothing of it, and shows what was kept.
func TestCommandsKeepRunsBesideALiveServer(t *testing.T) {
	k := newKeeping(t)
	k.env = append(k.env[:len(k.env)-1], "XDG_DATA_HOME="+filepath.Join(k.dir, "share")) // SQLite, in the folder of the server
	data := filepath.Join(k.dir, "share", "wexec")
	s := startServer(t, data)
	token := s.token()
	for range 3 {
		if out := k.of("run", "--keep", "-l", "js", "-e", "6 * 7"); out != "42\n" {
			t.Fatal(out)
		}
		if run, err := s.ask(token, "POST", "/v1/runs?wait=5m", `{"language":"js","code":"6*7"}`, ""); err != nil || string(run.Value) != "42" {
			t.Fatalf("%+v %v", run, err)
		}
	}
	_, _, id := k.start()
	if run, err := s.ask(token, "GET", "/v1/runs/"+id, "", ""); err != nil || run.State != "running" {
		t.Errorf("%+v %v", run, err)
	}
	if _, err := s.ask(token, "POST", "/v1/runs/"+id+"/cancel", "", ""); err != nil {
		t.Error(err)
	}
	k.until(time.Minute, "the run is still active", func() bool { return len(k.active()) == 0 })
	if _, err := os.Stat(filepath.Join(data, "seal.key")); err != nil {
		t.Error(err)
	}
	if out := k.of("store", "check"); !strings.Contains(out, "7 runs") || !strings.Contains(out, ": 0 faults") {
		t.Error(out)
	}
}
