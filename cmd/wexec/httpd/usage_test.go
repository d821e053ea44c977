package httpd

import (
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// sum is a row of the usage.
type sum struct {
	Key                         string
	Count, Failed, Fuel, Tokens int64
	Money                       float64
}

// sums are the rows of the usage by key.
func (a *api) sums(by string) map[string]sum {
	a.t.Helper()
	var page struct{ Usage []sum }
	a.call("reader", "GET", "/v1/usage?by="+url.QueryEscape(by), "").is(200, &page)
	all := map[string]sum{}
	for _, row := range page.Usage {
		row.Money = math.Round(row.Money*1e6) / 1e6
		all[row.Key] = row
	}
	return all
}

// add counts one run or call.
func add(sums map[string]sum, key string, failed bool, fuel, tokens int64, money float64) {
	s := sums[key]
	s.Key = key
	s.Count++
	if failed {
		s.Failed++
	}
	s.Fuel += fuel
	s.Tokens += tokens
	s.Money = math.Round((s.Money+money)*1e6) / 1e6
	sums[key] = s
}

// The usage by day, actor, tool and model is that of the runs.
func TestUsageSumsMatchTheRuns(t *testing.T) {
	servers, _ := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"})
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "zoe", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeRun}, Model: "gpt-5"})
	if err != nil {
		t.Fatal(err)
	}
	days, actors, tools, models := map[string]sum{}, map[string]sum{}, map[string]sum{}, map[string]sum{}
	for i, body := range []string{ping, `{"language":"js","code":"throw new Error('no')"}`, `{"language":"js","code":"await tools.p.ping(); return await tools.p.ping()"}`,
		bodies["POST /v1/runs"], `{"language":"js","code":"return 'words '.repeat(300)"}`} {
		token := []string{"agent", secret}[i%2]
		var run struct {
			Actor, Status string
			Usage         engine.Usage
			Calls         []engine.Call
		}
		var done shownRun
		a.call(token, "POST", "/v1/runs", body).is(200, &done)
		a.call("reader", "GET", "/v1/runs/"+done.RunID, "").is(200, &run)
		c, failed := run.Usage.Cost, run.Status != "ok"
		if c == nil || c.Currency != "USD" || c.Program <= 0 || c.Models != 0 || (c.Plain > 0) != (len(run.Calls) > 0) {
			t.Fatalf("the cost is %+v", c)
		}
		if want := []string{"claude-sonnet-4-5", "gpt-5"}[i%2]; c.Model != want {
			t.Errorf("the model is %s, not %s", c.Model, want)
		}
		var stored store.Run
		if stored, err = a.store.Run(t.Context(), "default", done.RunID); err != nil {
			t.Fatal(err)
		}
		add(days, stored.Ended.Format("2006-01-02"), failed, run.Usage.Fuel, run.Usage.TokensOut, c.Program)
		add(actors, run.Actor, failed, run.Usage.Fuel, run.Usage.TokensOut, c.Program)
		add(models, c.Model, failed, 0, run.Usage.TokensOut, c.Program)
		for _, call := range run.Calls {
			add(tools, call.Tool, !call.OK, 0, 0, 0)
		}
	}
	for by, want := range map[string]map[string]sum{"day": days, "actor": actors, "tool": tools, "model": models, "skill": {}} {
		got := a.sums(by)
		if len(got) != len(want) {
			t.Errorf("by %s: %+v, want %+v", by, got, want)
		}
		for key, row := range want {
			if got[key] != row {
				t.Errorf("by %s: %+v, want %+v", by, got[key], row)
			}
		}
	}
}

func TestTheServersOwnPricesReplaceThePublicOnes(t *testing.T) {
	a := newAPI(t, nil)
	write := func(text string) error {
		if err := os.WriteFile(filepath.Join(a.data, service.PricesFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return a.service.Reload(t.Context())
	}
	if err := write("currency: EUR\ndate: 2026-01-31\ndefault: ours\nmodels:\n  ours: {input: 0, output: 1000000}\n"); err != nil {
		t.Fatal(err)
	}
	var run struct{ Usage engine.Usage }
	code := "return 'six words of a program'"
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"`+code+`"}`).is(200, &run)
	if c, want := run.Usage.Cost, float64(engine.EstimateTokens([]byte(code))); c == nil || c.Currency != "EUR" || c.Model != "ours" || c.Program != want {
		t.Errorf("%+v, want %v", c, want)
	}
	if err := write("currency: EUR\n"); err == nil { // the last ones apply
		t.Error("half a file was read")
	}
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"`+code+`"}`).is(200, &run)
	if run.Usage.Cost == nil || run.Usage.Cost.Model != "ours" {
		t.Errorf("%+v", run.Usage.Cost)
	}
	a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"model":"gpt-5"}`).problem(400, "usage.token")
}

// encoded returns the JSON of a value.
func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What a program costs includes the definitions that a model reads to write one.
func TestTheDefinitionsOfTheMCPServerAreCounted(t *testing.T) {
	a := newAPI(t, nil)
	session, err := a.mcp("agent")
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n += service.DefinitionTokens(catalogue.Tool{Name: tool.Name, Description: tool.Description, InputSchema: encoded(t, tool.InputSchema)})
	}
	if off := float64(n)/service.OwnDefinitions - 1; off < -0.1 || off > 0.1 {
		t.Errorf("the definitions have %d tokens, not about %d", n, service.OwnDefinitions)
	}
}
