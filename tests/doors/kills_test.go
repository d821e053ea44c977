//go:build linux

package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/internal/tools/testpg"
)

// kills is how often the test kills a server of each store; the environment replaces
// it for the long proof.
func kills(t *testing.T) int {
	text := os.Getenv("WEXEC_SERVE_KILLS")
	switch {
	case text == "" && testing.Short():
		return 1
	case text == "":
		return 8
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// acknowledged is what servers answered before they were killed.
type acknowledged struct {
	mu      sync.Mutex
	values  map[string]string // of runs that were answered with their result, by id
	runs    map[string]string // keys by id
	unsure  []string          // keys of requests without an answer
	decided map[string]bool   // approvals
	tokens  map[string]string // secrets by id
	revoked map[string]bool   // secrets
}

func (a *acknowledged) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// noter is an MCP server that counts calls by key.
type noter struct {
	mu    sync.Mutex
	calls map[string]int
}

// serve serves the tools note and send and returns the address.
func (n *noter) serve(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "noter", Version: "1"}, nil)
	type input struct {
		Key string `json:"key"`
	}
	for _, name := range []string{"note", "send"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			n.mu.Lock()
			n.calls[in.Key]++
			n.mu.Unlock()
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Key}}}, nil, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

// onEachStore runs a test of servers with a data folder and flags on each database.
func onEachStore(t *testing.T, test func(t *testing.T, kind, data string, flags []string)) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			flags := []string{"--log", "error"}
			if kind == "postgres" {
				flags = append(flags, "--store", testpg.Address(t))
			}
			test(t, kind, t.TempDir(), flags)
		})
	}
}

// TestAKilledServerLosesAndDoublesNothing kills a busy server again and again. What it
// acknowledged is there after the next start: runs, answers to questions, tokens and
// audit records. Nothing is there twice, and no run stays open.
func TestAKilledServerLosesAndDoublesNothing(t *testing.T) {
	onEachStore(t, func(t *testing.T, kind, data string, flags []string) {
		tools := &noter{calls: map[string]int{}}
		writeTenant(t, data, "version: 1\ntools: {allow: [p.note], ask: [p.send]}\n", tools.serve(t))
		a := &acknowledged{values: map[string]string{}, runs: map[string]string{}, decided: map[string]bool{}, tokens: map[string]string{}, revoked: map[string]bool{}}
		token := ""
		rounds := kills(t)
		for round := range rounds {
			s := startServer(t, data, flags...)
			if token == "" {
				token = s.token()
			}
			s.keepBusy(a, token, round)
		}
		s := startServer(t, data, flags...)
		s.settled(token)
		runs := s.allRuns(token)
		s.holdTo(a, token, runs, tools)
		records := audited(t, filepath.Join(data, "tenants", "default", "audit"), a, runs)
		t.Logf("%s: %d kills; acknowledged: %d runs, %d with a result, %d answers, %d tokens and %d revocations; kept: %d runs, %d calls, %d audit records; lost 0, doubled 0, open 0",
			kind, rounds, len(a.runs), len(a.values), len(a.decided), len(a.tokens), len(a.revoked), len(runs), len(tools.calls), records)
	})
}

// writeTenant writes a policy and the address of an MCP server, which is p, into the
// folder of the default tenant.
func writeTenant(t *testing.T, data, rules, url string) {
	t.Helper()
	tenant := filepath.Join(data, "tenants", "default")
	if err := os.MkdirAll(tenant, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"policy.yaml": rules, "mcp.json": fmt.Sprintf(`{"mcpServers": {"p": {"type": "http", "url": %q}}}`, url)} {
		if err := os.WriteFile(filepath.Join(tenant, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// keepBusy sends requests of every kind until the server is killed, at a random moment
// after its first answer, or of its start.
func (s *server) keepBusy(a *acknowledged, token string, round int) {
	var again []string
	a.note(func() { again, a.unsure = a.unsure, nil })
	answered := make(chan struct{})
	first := sync.OnceFunc(func() { close(answered) })
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("1%03d%d%04d", round, client, n)
				if client == 0 && n < len(again) { // a client that was cut off sends its request again
					key = again[n]
				}
				if !s.oneRun(a, token, key) {
					return
				}
				first()
			}
		})
	}
	clients.Go(func() {
		for n := 0; s.oneAnswer(a, token, fmt.Sprintf("2%03d%05d", round, n)); n++ {
		}
	})
	clients.Go(func() {
		for s.oneToken(a, token) {
		}
	})
	if round%4 < 3 {
		select {
		case <-answered:
		case <-time.After(time.Minute):
			s.t.Errorf("no run is answered after a minute: %s", s.Says())
		}
	}
	time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
	_ = s.Cmd.Process.Kill()
	clients.Wait()
	_ = s.Cmd.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// oneRun sends a run, which calls a tool if its key is odd. It reports whether the
// server is there.
func (s *server) oneRun(a *acknowledged, token, key string) bool {
	code := "return " + key
	if key[len(key)-1]%2 == 1 {
		code = fmt.Sprintf("await tools.p.note({key: '%s'}); return %s", key, key)
	}
	run, err := s.ask(token, "POST", "/v1/runs", fmt.Sprintf(`{"language":"js","code":%q,"intent":%q}`, code, key), key)
	a.note(func() {
		if err != nil {
			a.unsure = append(a.unsure, key)
			return
		}
		a.runs[run.RunID] = key
		if run.State == "done" && run.Status == "ok" {
			a.values[run.RunID] = string(run.Value)
		}
	})
	return err == nil
}

// oneAnswer sends a run that asks a person, and approves it.
func (s *server) oneAnswer(a *acknowledged, token, key string) bool {
	code := fmt.Sprintf("return await tools.p.send({key: '%s'})", key)
	run, err := s.ask(token, "POST", "/v1/runs", fmt.Sprintf(`{"language":"js","code":%q,"intent":%q}`, code, key), key)
	if err != nil {
		return false
	}
	a.note(func() { a.runs[run.RunID] = key })
	if len(run.Waiting) != 1 {
		s.t.Errorf("%+v does not wait", run)
		return false
	}
	id := run.Waiting[0].ID
	if status, _, err := s.send(token, "POST", "/v1/approvals/"+id, `{"decision":"approve"}`, ""); err != nil || status != http.StatusOK {
		return false
	}
	a.note(func() { a.decided[id] = true })
	return true
}

// oneToken makes a token and revokes every second one.
func (s *server) oneToken(a *acknowledged, token string) bool {
	status, data, err := s.send(token, "POST", "/v1/tokens", `{"name":"n","scopes":["read"]}`, "")
	var made struct{ ID, Token string }
	if err != nil || status != http.StatusCreated || json.Unmarshal(data, &made) != nil {
		return false
	}
	if rand.IntN(2) == 0 {
		a.note(func() { a.tokens[made.ID] = made.Token })
		return true
	}
	if status, _, err := s.send(token, "DELETE", "/v1/tokens/"+made.ID, "", ""); err != nil || status != http.StatusOK {
		return false
	}
	a.note(func() { a.revoked[made.Token] = true })
	return true
}

// settled waits until no run is open, and approves what they ask. Those that a kill
// interrupted go on when their leases have expired.
func (s *server) settled(token string) {
	s.t.Helper()
	for range 2400 {
		open := 0
		for _, state := range []string{"queued", "running", "waiting", "parked"} {
			var page struct{ Runs []struct{} }
			s.get(token, "/v1/runs?state="+state, &page)
			open += len(page.Runs)
		}
		if open == 0 {
			return
		}
		var asked struct{ Approvals []struct{ ID string } }
		s.get(token, "/v1/approvals", &asked)
		for _, q := range asked.Approvals {
			if _, _, err := s.send(token, "POST", "/v1/approvals/"+q.ID, `{"decision":"approve"}`, ""); err != nil {
				s.t.Fatal(err)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("runs are open two minutes after the last kill")
}

// get reads a page.
func (s *server) get(token, path string, into any) {
	s.t.Helper()
	status, data, err := s.send(token, "GET", path, "", "")
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("%s: %d %s %v", path, status, data, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		s.t.Fatal(err)
	}
}

// allRuns returns the intents of all runs by id.
func (s *server) allRuns(token string) map[string]string {
	s.t.Helper()
	all, next := map[string]string{}, ""
	for {
		var page struct {
			Runs []struct {
				RunID  string `json:"run_id"`
				Intent string
			}
			Next string
		}
		s.get(token, "/v1/runs?limit=1000&cursor="+next, &page)
		for _, r := range page.Runs {
			if all[r.RunID] != "" {
				s.t.Errorf("%s is listed twice", r.RunID)
			}
			all[r.RunID] = r.Intent
		}
		if next = page.Next; next == "" {
			return all
		}
	}
}

// holdTo compares the server with what was acknowledged.
func (s *server) holdTo(a *acknowledged, token string, runs map[string]string, tools *noter) {
	s.t.Helper()
	byKey := map[string]string{}
	for id, key := range runs {
		if other := byKey[key]; other != "" {
			s.t.Errorf("the request %s is the runs %s and %s", key, id, other)
		}
		byKey[key] = id
	}
	for id, key := range a.runs {
		if runs[id] != key {
			s.t.Errorf("run %s of the request %s is lost", id, key)
		}
	}
	for id, value := range a.values {
		run, err := s.ask(token, "GET", "/v1/runs/"+id, "", "")
		if err != nil || run.State != "done" || run.Status != "ok" || string(run.Value) != value {
			s.t.Errorf("%s was answered with %s: %+v %v", id, value, run, err)
		}
	}
	for id := range a.decided {
		status, data, err := s.send(token, "POST", "/v1/approvals/"+id, `{"decision":"deny"}`, "")
		var p struct{ Detail string }
		if err != nil || status != http.StatusConflict || json.Unmarshal(data, &p) != nil || p.Detail != fmt.Sprintf("the approval %q was approved already", id) {
			s.t.Errorf("the answer to %s is lost: %d %s %v", id, status, data, err)
		}
	}
	for _, secret := range a.tokens {
		if status, _, err := s.send(secret, "GET", "/v1/approvals", "", ""); status != http.StatusOK {
			s.t.Errorf("a token is lost: %d %v", status, err)
		}
	}
	for secret := range a.revoked {
		if status, _, err := s.send(secret, "GET", "/v1/approvals", "", ""); status != http.StatusUnauthorized {
			s.t.Errorf("a revoked token is answered with %d %v", status, err)
		}
	}
	var waiting struct{ Approvals []struct{ Run string } }
	s.get(token, "/v1/approvals", &waiting)
	if len(waiting.Approvals) != 0 {
		s.t.Errorf("%d questions wait whose runs have ended", len(waiting.Approvals))
	}
	tools.mu.Lock()
	defer tools.mu.Unlock()
	for key, n := range tools.calls {
		if n != 1 {
			s.t.Errorf("the call of the request %s was made %d times", key, n)
		}
	}
	var usage struct{ Usage []struct{ Count int } }
	s.get(token, "/v1/usage?by=actor", &usage)
	counted := 0
	for _, u := range usage.Usage {
		counted += u.Count
	}
	if counted != len(runs) {
		s.t.Errorf("usage counts %d runs, the store has %d", counted, len(runs))
	}
	if len(a.runs) == 0 || len(a.values) == 0 {
		s.t.Errorf("%d runs were answered, %d with a result", len(a.runs), len(a.values))
	}
}

// audited holds the audit log to the results that were answered, and returns how many
// records it has.
func audited(t *testing.T, dir string, a *acknowledged, runs map[string]string) (records int) {
	t.Helper()
	report, err := audit.Verify(dir)
	if err != nil || !report.OK() {
		t.Errorf("the audit log does not verify: %v %v", report.Problems, err)
	}
	kinds := map[string][]audit.Type{}
	for e, err := range audit.Read(t.Context(), dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		records++
		kinds[e.Run] = append(kinds[e.Run], e.Kind())
	}
	for id := range a.values {
		want := map[audit.Type]int{audit.TypeStart: 1, audit.TypeEnd: 1}
		if key := runs[id]; key[len(key)-1]%2 == 1 {
			want[audit.TypeCall] = 1
		}
		for kind, n := range want {
			if got := len(slices.DeleteFunc(slices.Clone(kinds[id]), func(k audit.Type) bool { return k != kind })); got != n && (kind != audit.TypeStart || got == 0) { // a run that a kill interrupted begins again
				t.Errorf("run %s has %d records %s, want %d: %v", id, got, kind, n, slices.Collect(maps.Keys(want)))
			}
		}
	}
	return records
}
