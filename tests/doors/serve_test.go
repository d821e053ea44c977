//go:build linux

package doors

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// server is a process of wexec serve.
type server struct {
	*testenv.Server
	t *testing.T
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
	return &server{testenv.Await(t, command(t.Context(), dir, append(env, vars...), append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, flags...)...)), t}
}

// token is the one that the first start prints.
func (s *server) token() string {
	s.t.Helper()
	return s.Token(s.t)
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
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
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
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Says())
	}
	s = startServer(t, data)
	if strings.Contains(s.Says(), "wx_") {
		t.Errorf("the second start shows a token: %s", s.Says())
	}
	for id, want := range map[string]string{run.RunID: "42", slow.RunID: `"slow"`} {
		if run, err := s.ask(token, "GET", "/v1/runs/"+id, "", ""); err != nil || string(run.Value) != want || run.State != "done" {
			t.Errorf("%+v %v", run, err)
		}
	}
}
