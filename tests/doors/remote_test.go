package doors

import (
	"fmt"
	"os"
	"os/exec"
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
