package httpd

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/store"
)

// withQuotas are the files of a server whose default tenant has quotas.
func withQuotas(quotas string, more files) files {
	return withSettings("quotas: "+quotas+"\n", more)
}

// withSettings is files with settings of the default tenant.
func withSettings(settings string, more files) files {
	all := files{"tenants/default/wexec.yaml": "cache: " + testenv.Cache() + "\n" + settings}
	for name, text := range more {
		all[name] = text
	}
	return all
}

// overQuota fails the test if a request is not refused for a quota, and returns when
// it may be sent again.
func (r reply) overQuota(words ...string) time.Duration {
	r.t.Helper()
	r.problem(429, "limit.quota")
	var p Problem
	r.is(429, &p)
	for _, word := range words {
		if !strings.Contains(p.Detail, word) {
			r.t.Errorf("%q does not say %q", p.Detail, word)
		}
	}
	if !strings.Contains(p.Hint, "wait until") {
		r.t.Errorf("the hint is %q", p.Hint)
	}
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		r.t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

func TestARunOverAQuotaIsRefusedUntilAnotherEnds(t *testing.T) {
	servers, entered, release := holder(t)
	defer release()
	a := newAPI(t, withQuotas("{running: 1}", files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"}))
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"return await tools.p.hold()"}`, "Idempotency-Key", "k").is(202, &run)
	<-entered
	if wait := a.call("admin", "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("running", "default", "1 of 1"); wait > time.Minute {
		t.Errorf("a client waits %s for the end of a run", wait)
	}
	var again shownRun // is not a further run
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"return await tools.p.hold()"}`, "Idempotency-Key", "k").is(202, &again)
	if again.RunID != run.RunID {
		t.Errorf("%s and %s", run.RunID, again.RunID)
	}
	a.call("other", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200) // another tenant
	session, err := a.mcp("agent")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "return 1"}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := mcpd.ResultOf(answer); err != nil || res.Error == nil || res.Error.Code != fault.LimitQuota || res.Status != "limit" || !answer.IsError {
		t.Errorf("over MCP: %+v %v", res, err)
	}
	release()
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
		return run.State == "done"
	})
	a.call("admin", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200)
}

// mcp connects an agent.
func (a *api) mcp(token string) (*mcp.ClientSession, error) { return a.mcpAt(token, "", "") }

// mcpAt connects an agent to a profile, or to all tools, with a protocol version or the
// newest.
func (a *api) mcpAt(token, profile, version string) (*mcp.ClientSession, error) {
	path := mcpd.Path
	if profile != "" {
		path = mcpd.ProfilePath + profile
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(a.t.Context(), &mcp.StreamableClientTransport{Endpoint: a.url + path, HTTPClient: &http.Client{Transport: bearer(a.tokens[token])}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		a.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func TestATokenHasQuotasBelowThoseOfItsTenant(t *testing.T) {
	a := newAPI(t, withQuotas("{runs_per_day: 4}", nil))
	var made struct{ ID, Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"quotas":{"runs_per_day":2,"money_per_day":1.5},"model":"gpt-5"}`).is(201, &made)
	var page struct{ Tokens []store.Token }
	a.call("admin", "GET", "/v1/tokens", "").is(200, &page)
	for _, token := range page.Tokens {
		if token.ID == made.ID && (token.Quotas != store.Quotas{RunsPerDay: 2, MoneyPerDay: 1.5} || token.Model != "gpt-5") {
			t.Errorf("%+v", token)
		}
	}
	for range 2 {
		a.call(made.Token, "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200)
	}
	wait := a.call(made.Token, "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("runs_per_day", made.ID, "2 of 2")
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if off := time.Until(midnight) - wait; off.Abs() > time.Minute {
		t.Errorf("the client waits %s, to %s from midnight", wait, off)
	}
	for range 2 {
		a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200)
	}
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("runs_per_day", "tenant default", "4 of 4")
	for _, quotas := range []string{`{"running":-1}`, `{"fuel_per_day":"x"}`, `{"walking":1}`, `{"money_per_day":-0.5}`} {
		a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"quotas":`+quotas+`}`).problem(400, "usage.flag")
	}
}

// A run that is over a day's fuel ends, whether it spends the fuel itself or another
// run does.
func TestFuelOfADayEndsRuns(t *testing.T) {
	a := newAPI(t, withQuotas("{fuel_per_day: 50e6}", nil))
	var run shownRun
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"while (true) {}"}`).is(200, &run)
	if run.Error.Code != "limit.quota" || run.Status != "limit" {
		t.Errorf("%+v", run)
	}
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("fuel_per_day", "of 50000000")
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("fuel_per_day")
	// a limit of the program that is lower remains one
	a.call("other", "POST", "/v1/runs", `{"language":"js","code":"while (true) {}","limits":{"fuel":1000000}}`).is(200, &run)
	if run.Error.Code != "limit.fuel" {
		t.Errorf("%+v", run)
	}
}

func TestARunInFlightEndsWhenTheDayIsUsedUp(t *testing.T) {
	servers, entered, release := holder(t)
	defer release()
	a := newAPI(t, withQuotas("{tokens_per_day: 1000}", files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"}))
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"return await tools.p.hold()","limits":{"time":"10m"}}`).is(202, &run)
	<-entered
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"return 'a word or two '.repeat(2000)"}`).is(200)
	until(t, "the run in flight ended", func() bool {
		a.call("reader", "GET", "/v1/runs/"+run.RunID, "").is(200, &run)
		return run.State == "done"
	})
	if run.Error.Code != "limit.quota" || run.Status != "limit" || !strings.Contains(run.Error.Message, "tokens_per_day") {
		t.Errorf("%+v", run)
	}
}

func TestQuotasOfAFileAreChecked(t *testing.T) {
	a := newAPI(t, nil)
	path := filepath.Join(a.data, "tenants", "default", "wexec.yaml")
	write := func(quotas string) error {
		if err := os.WriteFile(path, []byte("cache: "+testenv.Cache()+"\nquotas: "+quotas+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return a.service.Reload(a.t.Context())
	}
	for _, quotas := range []string{"{running: 0}", "{running: -1}", "{running: many}", "{walking: 1}", "4", "{money_per_day: 0}", "{money_per_day: cheap}"} {
		if err := write(quotas); !errors.Is(err, fault.UsageConfig) {
			t.Errorf("%s: %v", quotas, err)
		}
	}
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).is(200)
	if err := write("{runs_per_day: 1, fuel_per_day: 5e12, tokens_per_day: 2_000_000, money_per_day: 12.5, running: 3, queued: 100}"); err != nil {
		t.Error(err)
	}
	a.call("agent", "POST", "/v1/runs", bodies["POST /v1/runs"]).overQuota("runs_per_day", "1 of 1") // after a reload
}
