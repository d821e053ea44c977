package httpd

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// bodies are valid bodies of the routes that take one.
var bodies = map[string]string{
	"POST /v1/runs":           `{"language":"js","code":"return 1"}`,
	"POST /v1/approvals/{id}": `{"decision":"deny"}`,
	"POST /v1/tokens":         `{"name":"n","scopes":["read"]}`,

	"POST /v1/sessions":             `{"name":"new","language":"js"}`,
	"POST /v1/sessions/{name}/fork": `{"name":"child"}`,

	"POST /v1/tasks":           `{"program":{"language":"js","code":"1"}}`,
	"POST /v1/subjects/delete": `{"kind":"email","value":"nobody@example.org"}`,
	"POST /v1/artifacts":       "a,b\n1,2\n",
	"POST /v1/workspaces":      `{"folder":"site"}`,
}

func TestEveryRouteNeedsItsScopeAndTenant(t *testing.T) {
	a, _ := newFolderAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200, &run)
	var layer shownWorkspace
	a.call("agent", "POST", "/v1/workspaces", bodies["POST /v1/workspaces"]).is(201, &layer)
	var made struct{ ID, Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"made","scopes":["read"]}`).is(201, &made)
	var kept struct{ Artifact string }
	a.call("admin", "POST", "/v1/artifacts", "of the tenant default").is(201, &kept)
	a.call("admin", "POST", "/v1/sessions", `{"name":"work","language":"js"}`).is(201)
	for _, rt := range routes() {
		body := bodies[rt.method+" "+rt.path]
		id := run.RunID
		if strings.Contains(rt.path, "tokens") {
			id = made.ID
		}
		if strings.Contains(rt.path, "workspaces") {
			id = layer.ID
		}
		path := strings.NewReplacer("{id}", id, "{name}", "work", "{sha256}", strings.TrimPrefix(kept.Artifact, "sha256:")).Replace(rt.path)
		a.call("", rt.method, path, body).problem(401, "denied.token")
		a.call("wx_wrong", rt.method, path, body).problem(401, "denied.token")
		a.call("other", rt.method, path, body, "X-Tenant", "default")
		for _, scope := range store.Scopes() {
			has := scope == rt.scope || scope == store.ScopeAdmin
			secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "other", Name: "one", Type: store.TypePerson, Scopes: []store.Scope{scope}})
			if err != nil {
				t.Fatal(err)
			}
			got := a.call(secret, rt.method, path, body)
			switch {
			case !has:
				got.problem(403, "denied.scope")
			case strings.Contains(rt.path, "{") && got.status < 400:
				t.Errorf("%s %s of another tenant answered %d: %s", rt.method, path, got.status, got.body)
			case (strings.Contains(string(got.body), run.RunID) || strings.Contains(string(got.body), layer.ID) || strings.Contains(string(got.body), kept.Artifact)) && got.status < 400:
				t.Errorf("%s %s shows a run of another tenant: %s", rt.method, path, got.body)
			case got.status >= 500:
				t.Errorf("%s %s answered %d: %s", rt.method, path, got.status, got.body)
			}
		}
	}
	a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200)
	a.call(made.Token, "GET", "/v1/runs", "").is(200)
	a.call("admin", "DELETE", "/v1/tokens/"+made.ID, "").is(200)
	a.call(made.Token, "GET", "/v1/runs", "").problem(401, "denied.token")
}

func TestATokenGivesNoMoreThanItHas(t *testing.T) {
	a := newAPI(t, nil)
	for body, status := range map[string]int{
		`{"name":"n","scopes":["reveal"]}`:                                 403, // admin does not include it
		`{"name":"n","scopes":["run"],"tenant":"other"}`:                   201,
		`{"name":"n","scopes":["run"],"tenant":"none"}`:                    400,
		`{"name":"n","scopes":["fly"]}`:                                    400,
		`{"name":"n","scopes":[]}`:                                         400,
		`{"name":"n","scopes":["run"],"expires":"2001-01-01T00:00:00Z"}`:   400,
		`{"name":"n","scopes":["run"],"type":"ghost"}`:                     400,
		`{"name":"n","scopes":["run"],"root":"/etc"}`:                      400,
		`{"name":"n","scopes":["run"],"tools":["a.*"],"type":"person"}`:    201,
		`{"name":"n","scopes":["run"]} {"name":"m","scopes":["run"]}`:      400,
		`{"name":"` + strings.Repeat("n", 9<<20) + `","scopes":["admin"]}`: 400,
	} {
		got := a.call("admin", "POST", "/v1/tokens", body)
		if got.status != status {
			t.Errorf("%.80s: %d, want %d: %s", body, got.status, status, got.body)
		}
	}
	a.call("other", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"tenant":"default"}`).problem(403, "denied.scope")
	var page struct{ Tokens []map[string]any }
	list := a.call("admin", "GET", "/v1/tokens", "").is(200, &page)
	if strings.Contains(string(list.body), "wx_") || len(page.Tokens) < 4 {
		t.Errorf("%s", list.body)
	}
}

// No field of a request names what only a host may choose.
func TestAClientCannotOpenTheHost(t *testing.T) {
	a := newAPI(t, nil)
	for _, field := range []string{"root", "packages", "plugin", "env", "dir", "actor", "trigger", "table", "tools", "by", "Root", "id"} {
		a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"return 1","`+field+`":"/etc"}`).problem(400, "usage.flag")
	}
	var run shownRun
	a.call("agent", "POST", "/v1/runs", `{"language":"python","code":"open('/etc/passwd').read()"}`).is(200, &run)
	if run.Error.Code == "" {
		t.Errorf("%+v", run)
	}
	a.call("agent", "POST", "/v1/runs", `{"language":"python","code":"open('`+strings.TrimPrefix(a.address, "sqlite:")+`','rb').read()"}`).is(200, &run)
	if run.Error.Code == "" {
		t.Errorf("%+v", run)
	}
}

func TestATokenWithToolsCallsNoOthers(t *testing.T) {
	servers, called := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\n"})
	for tools, want := range map[string]string{`["github.*"]`: "denied.tool", `["p.*"]`: ""} {
		var made struct{ Token string }
		a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"tools":`+tools+`}`).is(201, &made)
		before := called.Load()
		var run shownRun
		a.call(made.Token, "POST", "/v1/runs", ping).is(200, &run)
		if run.Error.Code != want || (called.Load() > before) != (want == "") {
			t.Errorf("%s: %+v, called %d times", tools, run, called.Load()-before)
		}
	}
}

// Requests that random bytes make of the routes never fail in the server.
func TestRandomRequestsNeverFailInTheServer(t *testing.T) {
	a := newAPI(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	values := []string{"", "0", "-1", "1e9", "null", `"x"`, "[]", "{}", `{"a":{}}`, `"` + strings.Repeat("é", 300) + `"`, `"\u0000"`, "true", "99999999999999999999", `"2026-01-01T00:00:00Z"`}
	names := []string{"language", "code", "args", "limits", "seed", "cache", "session", "input", "dry", "decision", "name", "scopes", "tools", "expires", "type", "kind", "value", "run_id", "token", "actor", "folder", "workspace", "x"}
	queries := []string{"limit", "cursor", "state", "since", "until", "q", "wait", "dry", "by", "min_score", "category", "tool", "keep", "name", "from", "lines", "match", "x"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	for range 400 {
		rt := routes()[r.IntN(len(routes()))]
		if rt.media != "" {
			continue
		}
		path := strings.NewReplacer("{id}", pick([]string{"x", "%00", "..%2f", "01H", "a%20b"}), "{sha256}", pick([]string{"x", "%00", strings.Repeat("0", 64)}), "{name}", pick([]string{"x", "%ff", "..%2f"})).Replace(rt.path)
		var query []string
		for range r.IntN(3) {
			query = append(query, pick(queries)+"="+strings.ReplaceAll(strings.Trim(pick(values), `"`), " ", "+"))
		}
		body := ""
		if rt.method == http.MethodPost {
			var fields []string
			for range r.IntN(5) {
				if v := pick(values); v != "" {
					fields = append(fields, fmt.Sprintf("%q:%s", pick(names), v))
				}
			}
			body = "{" + strings.Join(fields, ",") + "}"
		}
		got := a.call("admin", rt.method, path+"?"+strings.Join(query, "&"), body)
		if got.status >= 500 {
			t.Fatalf("%s %s?%s %s: %d %s", rt.method, path, strings.Join(query, "&"), body, got.status, got.body)
		}
	}
}

func TestTheServerSaysWhatItHas(t *testing.T) {
	a := newAPI(t, nil)
	a.call("", "GET", "/health", "").is(200)
	a.call("", "GET", "/ready", "").is(200)
	var doc struct{ OpenAPI string }
	a.call("", "GET", "/v1/openapi.json", "").is(200, &doc)
	if doc.OpenAPI != "3.1.0" {
		t.Error(doc)
	}
	a.call("admin", "GET", "/v2/runs", "").problem(404, "usage.flag")
	if got := a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"], "Sec-Fetch-Site", "cross-site"); got.status != 403 {
		t.Errorf("a page of another site was answered with %d", got.status)
	}
}

func TestTheBodiesOfAllRequestsAreBounded(t *testing.T) {
	a := newAPI(t, nil)
	a.server.bodies.Add(maxBodies)
	refused := a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"])
	refused.problem(429, "limit.busy")
	if refused.header.Get("Retry-After") == "" {
		t.Error("the client is not told when to send it again")
	}
	a.server.bodies.Add(-maxBodies)
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200)
	if n := a.server.bodies.Load(); n != 0 {
		t.Errorf("%d bytes are counted after all requests", n)
	}
}

// A client is not told where the store is or why it fails.
func TestAStoreThatFailsIsNotDescribed(t *testing.T) {
	for _, code := range []fault.Code{fault.StoreUnavailable, fault.Internal} {
		w := httptest.NewRecorder()
		writeProblem(w, fault.New(code, "dial tcp 10.1.2.3:5432: connection refused").WithHint("ask 10.1.2.3"))
		if strings.Contains(w.Body.String(), "10.1.2.3") || !strings.Contains(w.Body.String(), string(code)) {
			t.Errorf("the answer says %s", w.Body)
		}
	}
}

func TestARouteThatDoesNotExistSaysWhatDoes(t *testing.T) {
	a := newAPI(t, nil)
	r := a.call("agent", "PUT", "/v1/runs", "{}")
	r.problem(405, "usage.flag")
	if allow := r.header.Get("Allow"); allow != "GET, POST" {
		t.Errorf("Allow: %q", allow)
	}
	a.call("agent", "GET", "/v1/rums", "").problem(404, "usage.flag")
}
