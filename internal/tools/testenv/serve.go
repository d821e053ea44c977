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
	URL   string
	Token string // that of the administrator, which the first start prints
	Cmd   *exec.Cmd

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
	for range 1200 {
		if m := address.FindStringSubmatch(s.Says()); m != nil {
			s.URL = m[1]
			if s.Status("/ready") == http.StatusOK {
				s.Token = regexp.MustCompile(`wx_\S+`).FindString(s.Says())
				return s
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the server is not ready after a minute: %s", s.Says())
	return nil
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
