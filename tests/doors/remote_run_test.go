//go:build linux

package doors

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asking starts a server whose policy asks before it creates issues. It returns the
// folder and the environment of commands that use it with the token of an administrator.
func asking(t *testing.T) (s *server, dir string, env []string) {
	t.Helper()
	dir, env = furnished(t, askingPolicy)
	data := t.TempDir()
	tenant := filepath.Join(data, "tenants", "default")
	if err := os.MkdirAll(tenant, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mcp.json", "policy.yaml"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(tenant, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = startServer(t, data)
	saveToken(t, filepath.Join(dir, "token"), s.token())
	return s, dir, append(env, "WEXEC_TOKEN_FILE=token")
}

func saveToken(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

const createIssue = `console.log("before"); await tools.github.create_issue({title: "x"}); return "created"`

// onlyRun is the run of a server that has one.
func (s *server) onlyRun() (id, status, code string) {
	s.t.Helper()
	all := s.allRuns(s.token())
	if len(all) != 1 {
		s.t.Fatalf("the server has the runs %v", all)
	}
	for id = range all {
	}
	run, err := s.ask(s.token(), "GET", "/v1/runs/"+id, "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return id, run.Status, run.Error.Code
}

func TestCtrlCCancelsTheRunOnTheServer(t *testing.T) {
	s, dir, env := asking(t)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--server", s.URL, "-l", "js", "-e", `console.log("it " + "runs"); await new Promise(r => setTimeout(r, 600000))`))
	x.sees("it runs") // before the end
	x.types("\x03")
	if got := x.ends(); got != 130 {
		t.Errorf("status %d, %q", got, x.seen.String())
	}
	if _, status, code := s.onlyRun(); status != "error" || code != "cancelled" {
		t.Errorf("the run has the status %s and the code %s", status, code)
	}
}

func TestAnApprovalOfTheServerAtTheTerminal(t *testing.T) {
	for _, c := range []struct {
		keys   string
		status int
		want   string
	}{
		{"maybe\ny\n", 0, "created"},
		{"n\n", 3, "denied.approval"},
	} {
		s, dir, env := asking(t)
		x := atTerminal(t, command(t.Context(), dir, env, "run", "--server", s.URL, "-l", "js", "-e", createIssue))
		x.sees("[n]o")
		if shown := x.seen.String(); !strings.Contains(shown, "approve?") || !strings.Contains(shown, "github.create_issue") || !strings.Contains(shown, "before") {
			t.Errorf("the question is %q", shown)
		}
		x.types(c.keys)
		if got := x.ends(); got != c.status || !strings.Contains(x.seen.String(), c.want) {
			t.Errorf("%q: status %d, %q", c.keys, got, x.seen.String())
		}
	}
}

// TestARunThatWaitsGoesOnWithoutTheCommand runs a program where no person can answer, at
// a terminal whose token does not allow it, and without a terminal. The last line says how to go on.
func TestARunThatWaitsGoesOnWithoutTheCommand(t *testing.T) {
	for _, interactive := range []bool{true, false} {
		s, dir, env := asking(t)
		if interactive {
			token, err := command(t.Context(), dir, env, "token", "create", "--server", s.URL, "--name", "bot", "--scopes", "run,read").Output()
			if err != nil {
				t.Fatal(err)
			}
			saveToken(t, filepath.Join(dir, "bot"), strings.TrimSpace(string(token)))
		}
		cmd := command(t.Context(), dir, env, "run", "--server", s.URL, "-l", "js", "-e", createIssue)
		var status int
		var printed string
		if interactive {
			cmd.Args = append(cmd.Args, "--token-file", "bot")
			x := atTerminal(t, cmd)
			status, printed = x.ends(), x.seen.String()
		} else {
			out, _ := cmd.CombinedOutput() // its status is compared
			status, printed = cmd.ProcessState.ExitCode(), string(out)
		}
		if status != 75 || !strings.Contains(printed, "before") {
			t.Errorf("status %d, %q", status, printed)
		}
		id, state, _ := s.onlyRun()
		how := regexp.MustCompile(`wexec (logs ` + id + ` --follow --server http://[0-9.:]+)`).FindStringSubmatch(printed)
		if state != "waiting" || how == nil {
			t.Fatalf("the run is %s, and the command says %q", state, printed)
		}
		follow := command(t.Context(), dir, env, strings.Fields(how[1])...)
		var followed bytes.Buffer
		follow.Stdout, follow.Stderr = &followed, &followed
		if err := follow.Start(); err != nil {
			t.Fatal(err)
		}
		run, err := s.ask(s.token(), "GET", "/v1/runs/"+id, "", "")
		if err != nil || len(run.Waiting) != 1 {
			t.Fatal(run, err)
		}
		if _, err := s.ask(s.token(), "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve"}`, ""); err != nil {
			t.Fatal(err)
		}
		if err := follow.Wait(); err != nil || !strings.Contains(followed.String(), ": ok") {
			t.Errorf("%v: %s", err, &followed)
		}
	}
}

// TestOutputOfARunOnTheServerStreams reads the first line of a program that has not ended.
func TestOutputOfARunOnTheServerStreams(t *testing.T) {
	s, dir, env := asking(t)
	cmd := command(t.Context(), dir, env, "run", "--server", s.URL, "-l", "py", "-e", "import sys, time\nprint('first')\nprint('second', file=sys.stderr)\ntime.sleep(600)")
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for tries := 0; stdout.String() != "first\n" || !strings.HasPrefix(stderr.String(), "second\n"); tries++ {
		if tries == 1200 {
			t.Fatalf("after a minute the command printed %q and %q", &stdout, &stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	id, _, _ := s.onlyRun()
	if out, err := command(t.Context(), dir, env, "kill", id, "--server", s.URL).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := cmd.Wait(); err == nil || err.(*exec.ExitError).ExitCode() != 130 {
		t.Errorf("it ended with %v: %s", err, &stderr)
	}
}
