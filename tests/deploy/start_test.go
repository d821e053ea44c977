//go:build linux

package deploy

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/timing"
)

// TestAServerStartsFast measures from the start of the process to the first answer of
// /ready, with an empty store.
func TestAServerStartsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("short: measures time")
	}
	timing.Within(t, 300*time.Millisecond, "a start", func() time.Duration {
		var s *testenv.Server
		took := timing.Of(func() { s = testenv.Serve(t, t.TempDir()) })
		_ = s.Cmd.Process.Kill()
		_ = s.Cmd.Wait()
		return took
	})
}

// TestAServerThatStopsIsNotReady stops a server while a program runs.
func TestAServerThatStopsIsNotReady(t *testing.T) {
	if testing.Short() {
		t.Skip("short: compiles a guest")
	}
	s := testenv.Serve(t, t.TempDir())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/runs?wait=0", strings.NewReader(`{"language": "js", "code": "await new Promise(r => setTimeout(r, 10000))"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token(t))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("the run was answered with %d", res.StatusCode)
	}
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for s.Status("/ready") == http.StatusOK {
		time.Sleep(10 * time.Millisecond)
	}
	if got := s.Status("/ready"); got != http.StatusServiceUnavailable {
		t.Errorf("/ready is %d while a program runs, want 503", got)
	}
	if got := s.Status("/health"); got != http.StatusOK {
		t.Errorf("/health is %d while a program runs", got)
	}
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Says())
	}
}
