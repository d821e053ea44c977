package testenv

import (
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a process of wexec serve.
type Server struct {
	URL string
	Cmd *exec.Cmd

	mu   sync.Mutex
	says strings.Builder
}

// Write collects what the process prints.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.says.Write(p)
}

// Says returns what the process has printed.
func (s *Server) Says() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.says.String()
}

// Serve starts wexec serve on a data folder and waits until it is ready. It is killed
// at the end of the test.
func Serve(t testing.TB, data string, args ...string) *Server {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t, "wexec"), slices.Concat([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args)...)
	cmd.Dir = t.TempDir()
	cmd.Env = Isolated(cmd.Dir, "DEMO_SERVER="+Program(t, "demo-server")).Vars
	return Await(t, cmd)
}

// Await starts a process of wexec serve and waits until it is ready. It is killed at
// the end of the test.
func Await(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	s := &Server{Cmd: cmd}
	cmd.Stdout, cmd.Stderr = s, s
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := regexp.MustCompile(`API is at (https?://\S+)/v1`)
	for range 12_000 {
		if m := address.FindStringSubmatch(s.Says()); m != nil {
			s.URL = m[1]
			if s.Status("/ready") == http.StatusOK {
				return s
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the server is not ready after a minute: %s", s.Says())
	return nil
}

// Token waits for the token of the administrator, which the first start prints.
func (s *Server) Token(t testing.TB) string {
	t.Helper()
	line := regexp.MustCompile(`(wx_\S+)\n`)
	for range 6000 {
		if m := line.FindStringSubmatch(s.Says()); m != nil {
			return m[1]
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no token after 30 s: %s", s.Says())
	return ""
}

// Status is the status of a page, or 0 if the server does not answer.
func (s *Server) Status(path string) int {
	res, err := http.Get(s.URL + path)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}
