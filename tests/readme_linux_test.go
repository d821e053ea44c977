package tests

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestTheServerOfTheREADMEStartsInTwoCommands types them in a shell, with the token that
// the first one prints.
func TestTheServerOfTheREADMEStartsInTwoCommands(t *testing.T) {
	for _, name := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s", name)
		}
	}
	const address = "127.0.0.1:8080"
	if !becomesFree(address) {
		t.Skip("needs the port 8080")
	}
	all := slices.DeleteFunc(fencesOf(t, "README.md"), func(f fence) bool { return f.info != "sh served" })
	if len(all) != 1 || !strings.Contains(all[0].text, address) {
		t.Fatalf("blocks of commands: %v", all)
	}
	first, second, _ := strings.Cut(all[0].text, "\n")
	env := testenv.Isolated(t.TempDir())
	shell := exec.CommandContext(t.Context(), "sh")
	shell.Dir = env.Dir
	shell.Env = append(env.Vars, "PATH="+filepath.Dir(testenv.Program(t, "wexec"))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	types := func(line string) {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	types(first)
	t.Cleanup(func() {
		if shell.Process != nil {
			_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		}
	})
	server := testenv.Await(t, shell)
	types("TOKEN=" + server.Token(t))
	types(second)
	types("kill $! && wait $!")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := shell.Wait(); err != nil {
		t.Errorf("%v: %s", err, server.Says())
	}
	var run struct {
		RunID  string `json:"run_id"`
		Status string
		Value  int
	}
	_, answer, _ := strings.Cut(server.Says(), "{")
	if err := json.Unmarshal([]byte("{"+answer), &run); err != nil || run.RunID == "" || run.Status != "ok" || run.Value != 45 {
		t.Errorf("no result (%v): %s", err, server.Says())
	}
}

// becomesFree waits until a server can listen at an address.
func becomesFree(address string) bool {
	for range 600 {
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l.Close() == nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
