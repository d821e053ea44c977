package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// anyPinger is an MCP server with the tool ping, which takes any arguments, and how
// often it was called.
func anyPinger(t *testing.T) (mcpFile string, called *atomic.Int64) {
	called = new(atomic.Int64)
	server := mcp.NewServer(&mcp.Implementation{Name: "pinger", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ping"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		called.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pong"}}}, nil, nil
	})
	return serveMCP(t, server), called
}

// shownApproval is what clients read of an approval.
type shownApproval struct {
	ID, Run, Tool, State, By, Via, Reason string
	Rule                                  string
	AlwaysRule                            string `json:"always_rule"`
	Always                                bool
	Since, Expires                        time.Time
	Answered                              *time.Time
	Args                                  json.RawMessage
}

// approvals lists the approvals of a state.
func (a *api) approvals(state string) []shownApproval {
	a.t.Helper()
	var page struct{ Approvals []shownApproval }
	a.call("reader", "GET", "/v1/approvals?state="+state, "").is(200, &page)
	return page.Approvals
}

// asked starts a run and returns the questions that it waits for.
func (a *api) asked(program string) (run shownRun) {
	a.t.Helper()
	a.call("agent", "POST", "/v1/runs", program).is(202, &run)
	if run.State != "waiting" {
		a.t.Fatalf("%+v", run)
	}
	return run
}

// ended waits for the end of a run.
func (a *api) ended(id string) (run shownRun) {
	a.t.Helper()
	until(a.t, "the run is done", func() bool {
		run = shownRun{}
		a.call("reader", "GET", "/v1/runs/"+id, "").is(200, &run)
		return run.State == "done"
	})
	return run
}

const alwaysPolicy = `# the policy of the shop
version: 1
tools:
  ask: # these cost money
    - tool: "p.*"
      when: args.?n.orValue(0) > 10 # a lot
      message: that is a lot
    - {tool: p.ping, when: 'args.?s.orValue("") == "x"', message: x}
  allow: [p.ping]
  deny:
    - {tool: p.ping, when: args.?n.orValue(0) > 100}
`

func pingWith(args string) string {
	return `{"language":"js","code":"return await tools.p.ping(` + strings.ReplaceAll(args, `"`, `\"`) + `)"}`
}

func TestAlwaysWritesARuleAsNarrowAsTheQuestion(t *testing.T) {
	servers, called := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": alwaysPolicy})
	path := filepath.Join(a.data, "tenants/default/policy.yaml")
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var approver struct{ Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"pat","type":"person","scopes":["approve","read"]}`).is(201, &approver)
	run := a.asked(pingWith("{n: 11}"))
	id := run.Waiting[0].ID
	shown := a.approvals("waiting")
	if len(shown) != 1 || shown[0].AlwaysRule != `policy.yaml: tools.allow: {tool: p.ping, when: "args.?n.orValue(0) > 10", approved: true}` {
		t.Fatalf("%+v", shown)
	}
	for token, status := range map[string]int{approver.Token: 403, "agent": 403, "reader": 403, "other": 404} {
		code := map[int]string{403: "denied.scope", 404: "usage.run"}[status]
		a.call(token, "POST", "/v1/approvals/"+id, `{"decision":"approve","always":true}`).problem(status, code)
	}
	a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"deny","always":true}`).problem(400, "usage.flag")
	if read() != alwaysPolicy || len(a.approvals("waiting")) != 1 {
		t.Fatalf("a refused answer changed something:\n%s", read())
	}
	var answered shownApproval
	a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"approve","always":true}`).is(200, &answered)
	if !answered.Always || answered.State != "approved" || answered.By != "ada" || answered.Via != "api" || answered.Answered == nil {
		t.Errorf("%+v", answered)
	}
	if run := a.ended(run.RunID); string(run.Value) != `"pong"` {
		t.Errorf("%+v", run)
	}
	after := read()
	for line := range strings.Lines(alwaysPolicy) {
		if kept := strings.TrimSuffix(strings.TrimSpace(line), "[p.ping]"); !strings.Contains(after, kept) {
			t.Errorf("%q is gone from\n%s", line, after)
		}
	}
	if _, err := policy.Parse("policy.yaml", []byte(after)); err != nil || strings.Count(after, "approved: true") != 1 {
		t.Errorf("%v\n%s", err, after)
	}
	// The same question is not asked again, another one is, and a denial stays.
	before := called.Load()
	a.call("agent", "POST", "/v1/runs", pingWith("{n: 50}")).is(200)
	var denied shownRun
	a.call("agent", "POST", "/v1/runs", pingWith("{n: 101}")).is(200, &denied)
	if denied.Error.Code != "denied.tool" || called.Load() != before+1 {
		t.Errorf("%+v, called %d times", denied, called.Load()-before)
	}
	other := a.asked(pingWith(`{s: "x"}`))
	a.call("admin", "POST", "/v1/approvals/"+other.Waiting[0].ID, `{"decision":"deny"}`).is(200)
	// One record says who wrote which rule.
	found := 0
	for e, err := range audit.Read(t.Context(), filepath.Join(a.data, "tenants/default/audit"), audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Decision; d != nil && d.Kind == "rule" {
			found++
			if e.Run != run.RunID || !strings.HasPrefix(d.Approval.By, "actor_") || d.Approval.ID != id || d.Target != shown[0].AlwaysRule {
				t.Errorf("%+v %+v", d, d.Approval)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d records", found)
	}
}

func TestAnswersThatWriteRulesLoseNothing(t *testing.T) {
	servers, _ := anyPinger(t)
	text := "version: 1\ntools:\n  ask:\n"
	for i := range 8 {
		text += fmt.Sprintf("    - {tool: p.ping, when: 'args.?n.orValue(0) == %d'}\n", i+1)
	}
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": text + "  allow: [p.ping] # mine\n"})
	var ids []string
	for i := range 8 {
		ids = append(ids, a.asked(pingWith(fmt.Sprintf("{n: %d}", i+1))).Waiting[0].ID)
	}
	var all sync.WaitGroup
	for _, id := range ids {
		for range 2 { // the first answer counts, once
			all.Go(func() {
				if got := a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"approve","always":true}`); got.status != 200 && got.status != 409 {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
	}
	all.Wait()
	after, err := os.ReadFile(filepath.Join(a.data, "tenants/default/policy.yaml"))
	if err != nil || strings.Count(string(after), "approved: true") != 8 || !strings.Contains(string(after), "# mine") {
		t.Errorf("%v\n%s", err, after)
	}
	if answered := a.approvals("approved"); len(answered) != 8 {
		t.Errorf("%d questions are answered", len(answered))
	}
}

// A default that asks is answered by a plain rule, and a policy that changed since the
// question is not.
func TestAlwaysFollowsThePolicy(t *testing.T) {
	servers, _ := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ndefault: ask\n"})
	path := filepath.Join(a.data, "tenants/default/policy.yaml")
	first, second := a.asked(ping).Waiting[0].ID, a.asked(ping).Waiting[0].ID
	third := a.asked(ping).Waiting[0].ID
	a.call("admin", "POST", "/v1/approvals/"+first, `{"decision":"approve","always":true}`).is(200)
	a.call("admin", "POST", "/v1/approvals/"+second, `{"decision":"approve","always":true}`).is(200)
	after, err := os.ReadFile(path)
	if err != nil || strings.Count(string(after), "- p.ping") != 1 || strings.Contains(string(after), "approved") {
		t.Errorf("%v\n%s", err, after)
	}
	a.call("agent", "POST", "/v1/runs", ping).is(200)
	if err := os.WriteFile(path, []byte("version: 1\ntools: {deny: [p.ping]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.call("admin", "POST", "/v1/approvals/"+third, `{"decision":"approve","always":true}`).problem(409, "usage.conflict")
	if after, _ := os.ReadFile(path); strings.Contains(string(after), "allow") {
		t.Errorf("a rule was added to a policy that no longer asks:\n%s", after)
	}
}

func TestAnApprovalSaysWhoAnsweredWhenAndWhere(t *testing.T) {
	servers, _ := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools:\n  ask: [p.ping]\n"})
	began := time.Now().Add(-time.Minute)
	run := a.asked(ping)
	a.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"deny","reason":"not today"}`).is(200)
	a.ended(run.RunID)
	denied := a.approvals("denied")
	if len(denied) != 1 || denied[0].By != "ada" || denied[0].Via != "api" || denied[0].Reason != "not today" || denied[0].Answered == nil || denied[0].Answered.Before(began) {
		t.Errorf("%+v", denied)
	}
	// A person who answers through an MCP client is in the row too.
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		}})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: a.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(a.tokens["agent"])}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "return await tools.p.ping()"}})
	if err != nil || res.IsError {
		t.Fatal(res, err)
	}
	approved := a.approvals("approved")
	if len(approved) != 1 || approved[0].Via != "mcp" || approved[0].By != "bot" || approved[0].Answered == nil {
		t.Errorf("%+v", approved)
	}
	// A run that ends leaves no question open.
	run = a.asked(ping)
	a.call("agent", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200)
	a.ended(run.RunID)
	if open, expired := a.approvals("waiting"), a.approvals("expired"); len(open) != 0 || len(expired) != 1 || expired[0].By != "" {
		t.Errorf("%+v, %+v", open, expired)
	}
	a.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve"}`).problem(409, "usage.conflict")
	a.call("reader", "GET", "/v1/approvals?state=lost", "").problem(400, "usage.flag")
}

// The first answer counts over two servers of one store, and reaches the one that
// executes the run.
func TestTheFirstAnswerOfTwoServersCounts(t *testing.T) {
	servers, called := anyPinger(t)
	tenant := files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools:\n  ask: [p.ping]\n"}
	a := newAPI(t, tenant)
	b := a.second(tenant)
	for range 3 {
		run := a.asked(ping)
		before := called.Load()
		answers := make(chan int, 8)
		var all sync.WaitGroup
		for i := range 8 {
			server, decision := []*api{a, b}[i%2], []string{"approve", "deny"}[i/2%2]
			all.Go(func() {
				answers <- server.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"`+decision+`"}`).status
			})
		}
		all.Wait()
		close(answers)
		won := 0
		for status := range answers {
			if status == 200 {
				won++
			} else if status != 409 {
				t.Errorf("status %d", status)
			}
		}
		row, err := a.store.Approval(t.Context(), "default", run.Waiting[0].ID)
		if err != nil || won != 1 {
			t.Fatalf("%d answers counted: %+v %v", won, row, err)
		}
		ended := a.ended(run.RunID)
		if approved := row.State == store.AnswerApproved; approved != (ended.Error.Code == "") || approved != (called.Load() > before) {
			t.Errorf("the row says %s, the run %+v", row.State, ended)
		}
	}
}
