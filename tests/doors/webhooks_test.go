//go:build linux

package doors

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testpg"
)

// TestAKilledServerSendsItsEventsAfterTheNextStart kills a server while it sends the
// event of a question. The next one sends it again with the same id, and then what
// happened after it.
func TestAKilledServerSendsItsEventsAfterTheNextStart(t *testing.T) {
	kinds := []string{"sqlite", "postgres"}
	if testing.Short() {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			flags := []string{"--log", "error"}
			if kind == "postgres" {
				flags = append(flags, "--store", testpg.Address(t))
			}
			type event struct {
				ID, Type string
				Number   int64
				Data     struct{ ID, Run, State string }
			}
			var mu sync.Mutex
			var got []event
			began, killed := make(chan struct{}), make(chan struct{})
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				var e event
				if err != nil || json.Unmarshal(body, &e) != nil {
					t.Errorf("%s %v", body, err)
				}
				mu.Lock()
				got = append(got, e)
				first := len(got) == 1
				mu.Unlock()
				if first {
					close(began)
					<-killed
				}
			}))
			t.Cleanup(hook.Close)
			tools := &noter{calls: map[string]int{}}
			writeTenant(t, data, "version: 1\ntools: {ask: [p.send]}\n", tools.serve(t))
			settings := "approvals: {webhook: {url: '" + hook.URL + "', secret: 'file:hook.key'}}\n"
			for name, text := range map[string]string{"wexec.yaml": settings, "hook.key": "a secret of more than 16 bytes\n"} {
				if err := os.WriteFile(filepath.Join(data, "tenants", "default", name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := startServer(t, data, flags...)
			token := s.token()
			run, err := s.ask(token, "POST", "/v1/runs?wait=0", `{"language":"js","code":"await tools.p.send({key: 'k'})"}`, "")
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-began:
			case <-time.After(2 * time.Minute):
				t.Fatalf("no event after 2 minutes: %s", s.Says())
			}
			_ = s.Cmd.Process.Kill()
			_ = s.Cmd.Wait()
			close(killed)
			s = startServer(t, data, flags...)
			var all []event
			answered := false
			for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
				mu.Lock()
				all = append(all[:0], got...)
				mu.Unlock()
				if len(all) > 0 && all[len(all)-1].Type == "approval.answered" {
					break
				}
				if len(all) > 1 && !answered {
					status, answer, err := s.send(token, "POST", "/v1/approvals/"+all[0].Data.ID, `{"decision":"approve"}`, "")
					if err != nil || status != http.StatusOK {
						t.Fatalf("%d %s %v", status, answer, err)
					}
					answered = true
				}
				if time.Now().After(end) {
					t.Fatalf("not all events after 3 minutes: %+v", all)
				}
			}
			if len(all) < 3 {
				t.Fatalf("the event of the killed server was not sent again: %+v", all)
			}
			for i, e := range all {
				last := i == len(all)-1
				if want := map[bool]string{false: "approval.asked", true: "approval.answered"}[last]; e.Type != want || e.Data.Run != run.RunID || e.Data.ID != all[0].Data.ID {
					t.Errorf("event %d: %+v", i, e)
				}
				if same := e.ID == all[0].ID && e.Number == all[0].Number; same == last {
					t.Errorf("event %d: %+v, the first was %+v", i, e, all[0])
				}
			}
		})
	}
}
