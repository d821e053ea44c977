package httpd

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/store"
)

// rawTask is an answer to a request for a task.
type rawTask struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		CreatedAt, LastUpdatedAt                  time.Time
		TTL                                       int64 `json:"ttlMs"`
		InputRequests                             map[string]json.RawMessage
		Result                                    struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	Error struct {
		Code    int
		Message string
	}
}

// raw makes a request of MCP as the specification writes it, for a client that takes
// tasks, and shows forms.
func (a *api) raw(token, path, method string, params map[string]any) (out rawTask) {
	a.t.Helper()
	all := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "raw", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}},
			"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}}}
	maps.Copy(all, params)
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	if err != nil {
		a.t.Fatal(err)
	}
	name, ok := all["taskId"]
	if !ok {
		name = all["name"]
	}
	got := a.call(token, "POST", path, string(message), "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28",
		"Mcp-Method", method, "Mcp-Name", fmt.Sprint(name))
	for line := range strings.Lines(string(got.body)) {
		line = strings.TrimPrefix(line, "data: ")
		if strings.Contains(line, `"id":1`) {
			if err := json.Unmarshal([]byte(line), &out); err != nil {
				a.t.Fatal(err)
			}
			return out
		}
	}
	a.t.Fatalf("%s is not answered: %d %s", method, got.status, got.body)
	return out
}

// begin starts a program over MCP that becomes a task, and returns its id.
func (a *api) begin(path, code string) (id string) {
	a.t.Helper()
	t := a.raw("agent", path, "tools/call", map[string]any{"name": "execute_code", "arguments": map[string]any{"language": "javascript", "code": code}})
	if t.Result.ResultType != "task" || t.Result.TaskID == "" || t.Result.CreatedAt.IsZero() {
		a.t.Fatalf("%+v", t)
	}
	return t.Result.TaskID
}

// poll asks for a task until it has a status.
func (a *api) poll(id, status string) (last rawTask) {
	a.t.Helper()
	until(a.t, "the task is "+status, func() bool {
		last = a.raw("agent", "/mcp", "tasks/get", map[string]any{"taskId": id})
		if last.Error.Code != 0 || last.Result.ResultType != "complete" || last.Result.TaskID != id || last.Result.TTL <= 0 {
			a.t.Fatalf("%+v", last)
		}
		return last.Result.Status == status
	})
	return last
}

func TestATaskIsInTheStore(t *testing.T) {
	servers, entered, release := holder(t)
	tenant := files{"tenants/other/policy.yaml": "version: 1\n", "tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\n"}
	a := newAPI(t, withSettings("profiles: {narrow: {tools: ['p.*']}}\n", tenant))
	b := a.second(withSettings("profiles: {narrow: {tools: ['p.*']}}\n", tenant))
	id := a.begin("/mcp", "await tools.p.hold(); return 'from the first server'")
	<-entered
	for _, server := range []*api{a, b} {
		server.poll(id, "working")
	}
	var made struct{ Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"]}`).is(201, &made)
	a.tokens["colleague"] = made.Token
	unknown := func() {
		t.Helper()
		for _, c := range []struct{ token, path, id string }{{"agent", "/mcp", "unknown"}, {"agent", "/mcp/p/narrow", id}, {"other", "/mcp", id}, {"colleague", "/mcp", id}, {"admin", "/mcp", id}} {
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				for _, server := range []*api{a, b} {
					if got := server.raw(c.token, c.path, method, map[string]any{"taskId": c.id}); got.Error.Code != -32602 {
						t.Errorf("%s of %s with %s at %s: %+v", method, c.id, c.token, c.path, got)
					}
				}
			}
		}
	}
	unknown()
	release()
	for _, server := range []*api{a, b} {
		done := server.poll(id, "completed")
		if r := done.Result.Result; r.IsError || len(r.Content) != 1 || r.Content[0].Text != "from the first server" || done.Result.LastUpdatedAt.Before(done.Result.CreatedAt) {
			t.Errorf("%+v", done)
		}
	}
	unknown()
	// A server that starts again on the store answers too.
	a.stop()
	a.open()
	a.poll(id, "completed")
	// What is no longer kept has expired.
	if _, err := b.store.Prune(t.Context(), "default", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := a.raw("agent", "/mcp", "tasks/get", map[string]any{"taskId": id}); got.Error.Code != -32602 {
		t.Errorf("%+v", got)
	}
}

func TestAnyServerCancelsATask(t *testing.T) {
	servers, entered, release := holder(t)
	defer release()
	tenant := files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\n"}
	a := newAPI(t, tenant)
	b := a.second(tenant)
	id := a.begin("/mcp", "return await tools.p.hold()")
	<-entered
	if got := b.raw("agent", "/mcp", "tasks/cancel", map[string]any{"taskId": id}); got.Error.Code != 0 || got.Result.ResultType != "complete" {
		t.Fatalf("%+v", got)
	}
	for _, server := range []*api{b, a} {
		server.poll(id, "cancelled")
	}
}

// The task of a server that was killed ends with the lease of its run.
func TestATaskOfAServerThatDied(t *testing.T) {
	a := newAPI(t, nil)
	dead, err := store.Open(t.Context(), a.address, store.Options{Now: func() time.Time { return time.Now().Add(-time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Tokens []store.Token }
	a.call("admin", "GET", "/v1/tokens", "").is(200, &page)
	run := store.Run{Tenant: "default", ID: "01TASK", Language: "javascript", Request: []byte(`{"language":"javascript","code":"return 7","by":{"id":"bot"},"trigger":"mcp"}`)}
	for _, token := range page.Tokens {
		if token.Name == "bot" {
			run.Token = token.ID
		}
	}
	if _, err := dead.Accept(t.Context(), run, "dead", store.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if got := a.poll("01TASK", "cancelled"); !strings.Contains(got.Result.StatusMessage, "stopped") {
		t.Errorf("%+v", got)
	}
}

// A question of a task is answered by its client, or over the API.
func TestATaskAsksItsClientAndPeople(t *testing.T) {
	servers, called := pinger(t)
	tenant := files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"}
	a := newAPI(t, tenant)
	b := a.second(tenant)
	for i, answer := range []func(id, question string){
		func(id, question string) {
			a.raw("agent", "/mcp", "tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
				question: map[string]any{"action": "accept", "content": map[string]any{"answer": "yes"}}}})
		},
		func(_, question string) {
			a.call("admin", "POST", "/v1/approvals/"+question, `{"decision":"approve"}`).is(200)
		},
	} {
		id := a.begin("/mcp", "return await tools.p.ping()")
		asked := a.poll(id, "input_required").Result.InputRequests
		var question string
		for question = range asked {
		}
		if len(asked) != 1 || !strings.Contains(string(asked[question]), "elicitation/create") {
			t.Fatalf("%s", asked)
		}
		// Another server of the store has no way to the client: a person answers.
		until(t, "another server says what the task waits for", func() bool {
			return strings.Contains(b.poll(id, "working").Result.StatusMessage, "p.ping")
		})
		answer(id, question)
		a.poll(id, "completed")
		if called.Load() != int64(i+1) {
			t.Errorf("%d calls", called.Load())
		}
	}
	var page struct{ Approvals []struct{ Via string } }
	a.call("reader", "GET", "/v1/approvals?state=approved", "").is(200, &page)
	if len(page.Approvals) != 2 || page.Approvals[0].Via+page.Approvals[1].Via != "apimcp" && page.Approvals[0].Via+page.Approvals[1].Via != "mcpapi" {
		t.Errorf("%+v", page)
	}
}
