package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.RegisteredBodyDecoder("text/plain"))
	openapi3filter.RegisterBodyDecoder("application/zip", openapi3filter.RegisteredBodyDecoder("text/plain"))
	code := m.Run()
	testpg.Stop()
	os.Exit(code)
}

func TestTheAPIOnPostgreSQL(t *testing.T) {
	testpg.Again(t, "ARunIsExecuted|GoesOnWithout|SentTwice|ARunIsCancelled|APersonAnswers|TwoServers|ProcessThatDied|ServerThatStops|UsageSums|OverAQuota|ATokenHasQuotas|AWebhookLearns|OfTwoServersSends|ATask|AnyServerCancels|ASession|ALostSession|AnImage")
}

// api is a server and what checks its requests and answers.
type api struct {
	t       *testing.T
	url     string
	service *service.Service
	store   *store.Store
	server  *Server
	data    string
	address string            // of the store
	tokens  map[string]string // by name
	router  routers.Router
	stop    func()
}

// files are those of a data folder.
type files map[string]string

// write writes the files into a data folder.
func (f files) write(t testing.TB, data string) {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newAPI starts a server with the tenants of files. It has the tokens admin, agent
// (run and read), reader, and other, which is an admin of the tenant other.
func newAPI(t *testing.T, more files) *api {
	t.Helper()
	a := &api{t: t, data: t.TempDir(), address: testpg.Store(t), tokens: map[string]string{}}
	files{"tenants/other/policy.yaml": "version: 1\n", "tenants/default/wexec.yaml": "cache: " + testenv.Cache() + "\n"}.write(t, a.data)
	more.write(t, a.data)
	a.open()
	for name, token := range map[string]store.Token{
		"admin":  {Tenant: "default", Name: "ada", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}},
		"agent":  {Tenant: "default", Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead, store.ScopeApprove}},
		"reader": {Tenant: "default", Name: "eve", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRead}},
		"other":  {Tenant: "other", Name: "oz", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}},
	} {
		secret, _, err := a.service.CreateToken(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = secret
	}
	return a
}

// second starts another server on the same store and seal key, with its own folder.
func (a *api) second(more files) *api {
	a.t.Helper()
	b := &api{t: a.t, data: a.t.TempDir(), address: a.address, tokens: a.tokens}
	key, err := os.ReadFile(filepath.Join(a.data, "seal.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	files{"tenants/default/wexec.yaml": "cache: " + testenv.Cache() + "\n", "seal.key": string(key)}.write(a.t, b.data)
	more.write(a.t, b.data)
	b.open()
	return b
}

// open opens the store and the service, and serves the API until the test ends.
func (a *api) open() {
	a.t.Helper()
	ctx := a.t.Context()
	var err error
	if a.store, err = store.Open(ctx, a.address, store.Options{}); err != nil {
		a.t.Fatal(err)
	}
	env := testenv.Isolated(a.data)
	if a.service, err = service.Open(ctx, service.Options{Store: a.store, Data: a.data, Env: env, Version: "test"}); err != nil {
		a.t.Fatal(err)
	}
	if a.server, err = New(Options{Service: a.service}); err != nil {
		a.t.Fatal(err)
	}
	web := httptest.NewServer(a.server)
	a.url = web.URL
	closed := false
	stop := func() {
		if !closed {
			closed = true
			web.CloseClientConnections()
			web.Close()
			_ = a.service.Close()
			_ = a.store.Close()
		}
	}
	a.stop = stop
	a.t.Cleanup(stop)
	doc, err := openapi3.NewLoader().LoadFromData(a.server.document)
	if err == nil {
		err = doc.Validate(ctx, openapi3.DisableExamplesValidation()) // examples without references, where null is a value
	}
	if err != nil {
		a.t.Fatal(err)
	}
	if doc, err = openapi3.NewLoader().LoadFromData(withoutReferences(a.t, a.server.document)); err != nil {
		a.t.Fatal(err)
	}
	if err := doc.Validate(ctx); err != nil {
		a.t.Fatal(err)
	}
	doc.Servers = openapi3.Servers{{URL: a.url}}
	if a.router, err = gorillamux.NewRouter(doc); err != nil {
		a.t.Fatal(err)
	}
}

// withoutReferences puts the schemas of components where a document refers to them:
// with references, the validator treats null as OpenAPI 3.0 does.
func withoutReferences(t *testing.T, document []byte) []byte {
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	var all any
	if err := errors.Join(json.Unmarshal(document, &doc), json.Unmarshal(document, &all)); err != nil {
		t.Fatal(err)
	}
	var inline func(any) any
	inline = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, componentsAt) {
				return inline(doc.Components.Schemas[strings.TrimPrefix(ref, componentsAt)])
			}
			for key, value := range v {
				v[key] = inline(value)
			}
		case []any:
			for i, value := range v {
				v[i] = inline(value)
			}
		}
		return v
	}
	out, err := json.Marshal(inline(all))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reply is an answer of the API.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// call makes a request and holds the answer to the OpenAPI document, and the request
// too if it was answered.
func (a *api) call(token, method, path, body string, headers ...string) reply {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if token != "" {
		secret := a.tokens[token]
		if secret == "" {
			secret = token
		}
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	r := reply{a.t, res.StatusCode, res.Header, data}
	if strings.HasPrefix(path, "/v1/") && path != "/v1/openapi.json" {
		a.validate(req, body, r)
	}
	return r
}

func (a *api) validate(req *http.Request, body string, r reply) {
	a.t.Helper()
	asked := req.Clone(context.Background())
	asked.Body = io.NopCloser(strings.NewReader(body))
	found, params, err := a.router.FindRoute(asked)
	if err != nil {
		if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
			a.t.Errorf("%s %s is not in the document, and answered %d", req.Method, req.URL.Path, r.status)
		}
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: found,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil && r.status < 300 {
		a.t.Errorf("%s %s was answered and is not what the document allows: %v", req.Method, req.URL, err)
	}
	answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: r.status, Header: r.header, Options: input.Options}
	answer.SetBodyBytes(r.body)
	if err := openapi3filter.ValidateResponse(context.Background(), answer); err != nil {
		a.t.Errorf("%s %s answered %d, which the document does not allow: %v\n%s", req.Method, req.URL, r.status, err, r.body)
	}
}

// is fails the test if the status is another one, and decodes the body.
func (r reply) is(status int, into ...any) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d\n%s", r.status, status, r.body)
	}
	for _, to := range into {
		if err := json.Unmarshal(r.body, to); err != nil {
			r.t.Fatalf("%v\n%s", err, r.body)
		}
	}
	return r
}

// problem fails the test if the answer is not a problem with a code.
func (r reply) problem(status int, code string) {
	r.t.Helper()
	var p Problem
	r.is(status, &p)
	if string(p.Code) != code || p.Status != status || r.header.Get("Content-Type") != "application/problem+json" {
		r.t.Errorf("a problem %+v of type %s, want %s", p, r.header.Get("Content-Type"), code)
	}
}

// until calls a function until it is true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not after 30 s: %s", what)
}

// shownRun is what clients read of a run.
type shownRun struct {
	RunID  string `json:"run_id"`
	Status string
	State  string
	Value  json.RawMessage
	Stdout string
	Code   string
	Actor  string
	Error  struct{ Code, Message, Hint string }
	Usage  struct{ Fuel int64 }
	Calls  []struct{ Tool string }

	Waiting []struct{ ID, Tool, Message string }
}

func TestARunIsExecutedKeptAndListed(t *testing.T) {
	a := newAPI(t, nil)
	var run, again shownRun
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"console.log('hi'); return 1+1","intent":"add"}`).is(200, &run)
	if string(run.Value) != "2" || run.Status != "ok" || run.State != "done" || run.Stdout != "hi\n" {
		t.Errorf("%+v", run)
	}
	a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &again)
	if again.Code == "" || again.Actor != "bot" || string(again.Value) != "2" || again.State != "done" {
		t.Errorf("%+v", again)
	}
	a.call("agent", "POST", "/v1/runs", `{"language":"python","code":"1/0"}`).is(200, &run)
	if run.Status != "error" || run.Error.Code != "guest.exception" {
		t.Errorf("%+v", run)
	}
	type list struct {
		Runs []shownRun
		Next string
	}
	var page list
	a.call("reader", "GET", "/v1/runs?limit=1", "").is(200, &page)
	if listed := page.Runs[0]; listed.Usage != run.Usage || run.Usage.Fuel == 0 || listed.Error.Message != run.Error.Message {
		t.Errorf("the list has %+v, the run %+v", listed, run)
	}
	if len(page.Runs) != 1 || page.Runs[0].RunID != run.RunID || page.Next == "" || page.Runs[0].Error.Code != "guest.exception" {
		t.Errorf("%+v", page)
	}
	cursor := page.Next
	page = list{}
	a.call("reader", "GET", "/v1/runs?limit=1&cursor="+cursor, "").is(200, &page)
	if len(page.Runs) != 1 || page.Runs[0].RunID != again.RunID || page.Next != "" {
		t.Errorf("%+v", page)
	}
	a.call("reader", "GET", "/v1/runs?q=ADD&status=ok&language=javascript", "").is(200, &page)
	if len(page.Runs) != 1 {
		t.Errorf("%+v", page)
	}
	var usage struct{ Usage []struct{ Count, Failed int } }
	a.call("reader", "GET", "/v1/usage?by=actor", "").is(200, &usage)
	if len(usage.Usage) != 1 || usage.Usage[0].Count != 2 || usage.Usage[0].Failed != 1 {
		t.Errorf("%+v", usage)
	}
}

func TestARunGoesOnWithoutItsCaller(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"for (let i = 0; i < 3; i++) { console.log(i); await new Promise(r => setTimeout(r, 150)) } return 'end'"}`).is(202, &run)
	if run.RunID == "" || run.Status == "" {
		t.Errorf("%+v", run)
	}
	events := a.events("reader", run.RunID, "")
	var kinds []string
	out := ""
	for _, e := range events {
		kinds = append(kinds, e.kind)
		if e.kind == "output" {
			var o struct{ Text string }
			_ = json.Unmarshal(e.data, &o)
			out += o.Text
		}
	}
	if out != "0\n1\n2\n" || kinds[len(kinds)-1] != "end" || !bytes.Contains(events[len(events)-1].data, []byte(`"end"`)) {
		t.Errorf("%q %v", out, kinds)
	}
	// A client that was cut off after the first event gets the others.
	rest := a.events("reader", run.RunID, fmt.Sprint(events[0].id))
	if len(rest) != len(events)-1 || rest[0].id != events[0].id+1 {
		t.Errorf("%d events after the first of %d", len(rest), len(events))
	}
	a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
	if run.State != "done" || string(run.Value) != `"end"` {
		t.Errorf("%+v", run)
	}
}

func TestARequestThatIsSentTwiceIsOneRun(t *testing.T) {
	a := newAPI(t, nil)
	const body = `{"language":"js","code":"return Math.random()"}`
	var first, second shownRun
	a.call("agent", "POST", "/v1/runs", body, "Idempotency-Key", "k1").is(200, &first)
	a.call("agent", "POST", "/v1/runs", body, "Idempotency-Key", "k1").is(200, &second)
	if first.RunID != second.RunID || string(first.Value) != string(second.Value) {
		t.Errorf("%+v and %+v", first, second)
	}
	a.call("admin", "POST", "/v1/runs", body, "Idempotency-Key", "k1").is(200, &second)
	if first.RunID == second.RunID {
		t.Error("the key of one token gave the run of another")
	}
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"return 1"}`, "Idempotency-Key", "k1").problem(422, "usage.conflict")
}

func TestASecondRequestIsRefusedWhileTheFirstIsNotAnswered(t *testing.T) {
	servers, entered, release := holder(t)
	defer release()
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"})
	const hold = `{"language":"js","code":"return await tools.p.hold()"}`
	answer := make(chan reply, 1)
	go func() { answer <- a.call("agent", "POST", "/v1/runs", hold, "Idempotency-Key", "k") }()
	<-entered
	a.call("agent", "POST", "/v1/runs", hold, "Idempotency-Key", "k").problem(409, "usage.conflict")
	release()
	var first, second shownRun
	got := <-answer
	got.is(200, &first)
	a.call("agent", "POST", "/v1/runs", hold, "Idempotency-Key", "k").is(200, &second)
	if first.RunID != second.RunID || string(first.Value) != `"held"` {
		t.Errorf("%+v and %+v", first, second)
	}
}

func TestARunIsCancelled(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"while (true) {}","limits":{"time":"60s","fuel":1000000000000}}`).is(202, &run)
	var done struct{ Cancelled bool }
	a.call("agent", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200, &done)
	if !done.Cancelled {
		t.Error("the run had ended")
	}
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
		return run.State == "done"
	})
	if run.Error.Code != "cancelled" {
		t.Errorf("%+v", run)
	}
	a.call("agent", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200, &done)
	if done.Cancelled {
		t.Error("a run was cancelled that had ended")
	}
}

// ping is a request for a run that calls the tool.
const ping = `{"language":"js","code":"return await tools.p.ping()"}`

func TestAPersonAnswersOverTheAPI(t *testing.T) {
	servers, called := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"})
	ask := func() (run shownRun) {
		t.Helper()
		a.call("agent", "POST", "/v1/runs", ping).is(202, &run)
		if run.State != "waiting" || run.Status != "waiting" || len(run.Waiting) != 1 || called.Load() != 0 {
			t.Fatalf("%+v, called %d times", run, called.Load())
		}
		return run
	}
	run := ask()
	id := run.Waiting[0].ID
	var page struct {
		Approvals []struct{ ID, Run, Tool, State string }
	}
	a.call("reader", "GET", "/v1/approvals", "").is(200, &page)
	if len(page.Approvals) != 1 || page.Approvals[0].ID != id || page.Approvals[0].Run != run.RunID {
		t.Errorf("%+v", page)
	}
	a.call("agent", "POST", "/v1/approvals/"+id, `{"decision":"approve"}`).problem(403, "denied.scope")
	a.call("reader", "POST", "/v1/approvals/"+id, `{"decision":"approve"}`).problem(403, "denied.scope")
	a.call("other", "POST", "/v1/approvals/"+id, `{"decision":"approve"}`).problem(404, "usage.run")
	a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"perhaps"}`).problem(400, "usage.flag")
	a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"deny","reason":"not now"}`).is(200)
	a.call("admin", "POST", "/v1/approvals/"+id, `{"decision":"approve"}`).problem(409, "usage.conflict")
	last := a.events("reader", run.RunID, "")
	if end := last[len(last)-1]; end.kind != "end" || !bytes.Contains(end.data, []byte("denied.approval")) || !bytes.Contains(end.data, []byte("not now")) || called.Load() != 0 {
		t.Errorf("%s, called %d times", end.data, called.Load())
	}
	run = ask()
	a.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve"}`).is(200)
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
		return run.State == "done"
	})
	if string(run.Value) != `"pong"` || called.Load() != 1 {
		t.Errorf("%+v, called %d times", run, called.Load())
	}
}

func TestAProcessThatDiedEndsItsRuns(t *testing.T) {
	a := newAPI(t, nil)
	// A process accepted these runs and died: its leases expire.
	clock := func() time.Time { return time.Now().Add(-time.Minute) }
	dead, err := store.Open(t.Context(), a.address, store.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	program := []byte(`{"language":"javascript","code":"return 7","by":{"id":"bot"},"trigger":"api"}`)
	for id, owner := range map[string]string{"01STARTED": "dead", "01WAITING": ""} {
		if _, err := dead.Accept(t.Context(), store.Run{Tenant: "default", ID: id, Language: "javascript", Request: program}, owner, store.Idempotency{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	var run shownRun
	for id, want := range map[string]string{"01STARTED": "cancelled", "01WAITING": ""} {
		until(t, id+" is done", func() bool {
			a.call("reader", "GET", "/v1/runs/"+id, "").is(200, &run)
			return run.State == "done"
		})
		if run.Error.Code != want || want == "" && string(run.Value) != "7" {
			t.Errorf("%s: %+v", id, run)
		}
		run = shownRun{}
	}
}

func TestAServerThatStopsLeavesItsRunsToTheNext(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"while (true) {}","limits":{"time":"60s","fuel":1000000000000}}`).is(202, &run)
	a.stop()
	a.open()
	a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
	if run.State == "done" {
		t.Errorf("%+v", run)
	}
	a.call("agent", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200, &run)
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
		return run.State == "done"
	})
	if run.Error.Code != "cancelled" {
		t.Errorf("%+v", run)
	}
}

func TestAgentsOverMCPUseTheSameTokensRunsAndApprovals(t *testing.T) {
	servers, called := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"})
	connect := func(token string) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: a.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(a.tokens[token])}}, nil)
		if err == nil {
			t.Cleanup(func() { _ = session.Close() })
		}
		return session, err
	}
	for _, token := range []string{"reader", "nobody"} {
		if _, err := connect(token); err == nil {
			t.Errorf("the token %s connected", token)
		}
	}
	session, err := connect("agent")
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		res *mcp.CallToolResult
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "return await tools.p.ping()", "intent": "over MCP"}})
		done <- outcome{res, err}
	}()
	var page struct{ Approvals []struct{ ID, Run string } }
	until(t, "the run asks", func() bool {
		a.call("reader", "GET", "/v1/approvals", "").is(200, &page)
		return len(page.Approvals) > 0
	})
	a.call("agent", "POST", "/v1/approvals/"+page.Approvals[0].ID, `{"decision":"approve"}`).problem(403, "denied.scope")
	a.call("admin", "POST", "/v1/approvals/"+page.Approvals[0].ID, `{"decision":"approve"}`).is(200)
	got := <-done
	if got.err != nil || got.res.IsError || called.Load() != 1 {
		t.Fatalf("%+v %v, called %d times", got.res, got.err, called.Load())
	}
	var run shownRun
	a.call("reader", "GET", "/v1/runs/"+page.Approvals[0].Run, "").is(200, &run)
	if run.State != "done" || string(run.Value) != `"pong"` || run.Actor != "bot" {
		t.Errorf("%+v", run)
	}
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
