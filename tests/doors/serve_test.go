//go:build linux

package doors

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is a process of wexec serve.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	says *lockedBuffer
}

// startServer starts wexec serve on a data folder and waits until it is ready.
func startServer(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	return startServerWith(t, nil, data, flags...)
}

// startServerWith is startServer with variables in the environment.
func startServerWith(t *testing.T, vars []string, data string, flags ...string) *server {
	t.Helper()
	dir, env := furnished(t, "")
	s := &server{t: t, cmd: command(t.Context(), dir, append(env, vars...), append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, flags...)...), says: &lockedBuffer{}}
	s.cmd.Stdout, s.cmd.Stderr = s.says, s.says
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	address := regexp.MustCompile(`API is at (http://\S+)/v1`)
	for range 600 {
		if m := address.FindStringSubmatch(s.says.String()); m != nil {
			if s.url = m[1]; s.status("/ready") == http.StatusOK {
				return s
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the server is not ready after 30 s: %s", s.says)
	return nil
}

// status is the status of a page, or 0 if the server does not answer.
func (s *server) status(path string) int {
	res, err := http.Get(s.url + path)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// token is the one that the first start prints.
func (s *server) token() string {
	s.t.Helper()
	token := regexp.MustCompile(`wx_\S+`).FindString(s.says.String())
	if token == "" {
		s.t.Fatalf("no token: %s", s.says)
	}
	return token
}

// ask makes a request of the API. Without an answer the error says why.
func (s *server) ask(token, method, path, body, key string) (run struct {
	RunID         string `json:"run_id"`
	Status, State string
	Intent        string
	Value         json.RawMessage
	Error         struct{ Code string }
	Waiting       []struct{ ID string }
}, err error) {
	status, data, err := s.send(token, method, path, body, key)
	if err != nil {
		return run, err
	}
	if status >= 300 {
		return run, fmt.Errorf("%d %s", status, data)
	}
	return run, json.Unmarshal(data, &run)
}

// send makes a request and returns the answer.
func (s *server) send(token, method, path, body, key string) (status int, data []byte, err error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	return res.StatusCode, data, err
}

func TestAServerOfARealProcess(t *testing.T) {
	data := t.TempDir()
	s := startServer(t, data)
	token := s.token()
	run, err := s.ask(token, "POST", "/v1/runs", `{"language":"python","code":"6*7"}`, "")
	if err != nil || string(run.Value) != "42" {
		t.Fatal(run, err)
	}
	slow, err := s.ask(token, "POST", "/v1/runs?wait=0", `{"language":"js","code":"await new Promise(r => setTimeout(r, 700)); return 'slow'"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	// It stops after its runs.
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.says)
	}
	s = startServer(t, data)
	if strings.Contains(s.says.String(), "wx_") {
		t.Errorf("the second start shows a token: %s", s.says)
	}
	for id, want := range map[string]string{run.RunID: "42", slow.RunID: `"slow"`} {
		if run, err := s.ask(token, "GET", "/v1/runs/"+id, "", ""); err != nil || string(run.Value) != want || run.State != "done" {
			t.Errorf("%+v %v", run, err)
		}
	}
}
