package doors

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// served starts wexec serve with a data folder, until the script ends: served DATA. SERVER
// is its address, and token.txt has the token of the first start.
func served(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: served DATA")
	}
	self, err := exec.LookPath("wexec")
	ts.Check(err)
	tenant := filepath.Join(ts.MkAbs(args[0]), "tenants", "default")
	ts.Check(os.MkdirAll(tenant, 0o700))
	ts.Check(os.WriteFile(filepath.Join(tenant, "wexec.yaml"), []byte("cache: "+ts.Getenv("WEXEC_CACHE")+"\n"), 0o600)) // compiled guests
	cmd := exec.Command(self, "serve", "--listen", "127.0.0.1:0", "--data", args[0])
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "PATH", "WEXEC_CACHE", "NO_COLOR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	says := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = says, says
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	started := regexp.MustCompile(`(?s)API is at (http://\S+)/v1.*(wx_\S+)`)
	for range 600 {
		if m := started.FindStringSubmatch(says.String()); m != nil {
			ts.Setenv("SERVER", m[1])
			ts.Check(os.WriteFile(ts.MkAbs("token.txt"), []byte(m[2]+"\n"), 0o600))
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s", strings.TrimSpace(fmt.Sprintf("the server does not start: %s", says)))
}

// same runs a program here, here with a record in the store, and on the server of the
// script, and compares what the command prints and its exit status:
// same STATUS ARGS… [< FILE]
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: same STATUS ARGS… [< FILE]")
	}
	input := ""
	if n := len(args); n > 2 && args[n-2] == "<" {
		input, args = ts.ReadFile(args[n-1]), args[:n-2]
	}
	self, err := exec.LookPath("wexec")
	ts.Check(err)
	var printed [3]string
	for i, more := range [][]string{{"run"}, {"run", "--keep"}, {"run", "--server", ts.Getenv("SERVER"), "--token-file", "token.txt"}} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(self, append(more, args[1:]...)...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = ts.Getenv("WORK"), strings.NewReader(input), &stdout, &stderr
		for _, name := range []string{"HOME", "PATH", "WEXEC_CACHE", "NO_COLOR"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		_ = cmd.Run() // its status is compared
		printed[i] = fmt.Sprintf("status %d\n-- stdout --\n%s\n-- stderr --\n%s", cmd.ProcessState.ExitCode(), &stdout, &stderr)
	}
	for i, where := range []string{"here with --keep", "on the server"} {
		if printed[0] != printed[i+1] {
			ts.Fatalf("here:\n%s\n%s:\n%s", printed[0], where, printed[i+1])
		}
	}
	if !strings.HasPrefix(printed[0], "status "+args[0]+"\n") {
		ts.Fatalf("%s", printed[0])
	}
}
