package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// fakeProvider is a provider with the behavior of a test.
type fakeProvider struct {
	tools []catalogue.Tool
	list  func(ctx context.Context) ([]catalogue.Tool, error)
	call  func(ctx context.Context, c Call) (Answer, error)
	calls atomic.Int64

	mu      sync.Mutex
	changed func(string)
}

func (p *fakeProvider) Servers() []string {
	if len(p.tools) > 0 {
		return []string{p.tools[0].Server}
	}
	return []string{"fakeProvider"}
}
func (p *fakeProvider) Tools(ctx context.Context, _ string) ([]catalogue.Tool, error) {
	if p.list != nil {
		return p.list(ctx)
	}
	return p.tools, nil
}
func (p *fakeProvider) Call(ctx context.Context, c Call) (Answer, error) {
	p.calls.Add(1)
	return p.call(ctx, c)
}
func (p *fakeProvider) Watch(f func(string)) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = f
	return func() {}
}
func (p *fakeProvider) Close() error { return nil }

func tool(id, schema string) catalogue.Tool {
	server, name, _ := strings.Cut(id, ".")
	return catalogue.Tool{Server: server, Name: name, InputSchema: json.RawMessage(schema)}
}

// echo answers with the arguments it was given.
func echo(_ context.Context, c Call) (Answer, error) { return Answer{Data: c.Args}, nil }

const commits = `{"type":"object","properties":{"owner":{"type":"string"},"per_page":{"type":"integer","default":30,"maximum":100},
	"state":{"enum":["open","closed"]}},"required":["owner"]}`

func TestArgumentsAreCheckedNamedAndFilledIn(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("gh.list", commits)}, call: echo}
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), p)
	for in, want := range map[string]string{
		`{"owner":"a"}`:                        `{"owner":"a","per_page":30}`,
		`["a"]`:                                `{"owner":"a","per_page":30}`,
		`["a", 5, "open"]`:                     `{"owner":"a","per_page":5,"state":"open"}`,
		` { "owner" : "a" , "per_page" : 7 } `: ` { "owner" : "a" , "per_page" : 7 } `,
		`{"owner":"a","big":12345678901234567890123}`: `{"owner":"a","big":12345678901234567890123,"per_page":30}`,
		`{"owner":"\ud800x"}`:                         `{"owner":"�x","per_page":30}`,
	} {
		a, err := r.Call(t.Context(), "gh.list", []byte(in))
		if err != nil || string(a.Data) != want {
			t.Errorf("%s: %s %v", in, a.Data, err)
		}
	}
	for in, want := range map[string]string{
		`{}`:                             `args: "owner" is missing`,
		`{"owner":1}`:                    "args.owner: expected a string, got an integer",
		`{"owner":"a","per_page":101}`:   "args.per_page: expected at most 100",
		`{"owner":"a","perPage":5}`:      "args.perPage: there is no argument of that name",
		`{"ownr":"a"}`:                   "args.ownr: there is no argument of that name",
		`{"owner":"a","state":"opened"}`: `allowed: "open", "closed"`,
		`["a",1,"open",4]`:               "4 arguments by position, but the tool has 3",
		`{"owner":"a","owner":"b"}`:      "duplicate name",
		`"a"`:                            "an object by keyword or a list by position",
		`{"owner":"a"} x`:                "unexpected data after the value",
		`{"owner":"a"`:                   "unexpected end of JSON",
		"{\"owner\":\"\xff\"}":           "not valid UTF-8",
		`{"owner":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "nested more than 100 levels",
		`{"owner":"a","per_page":1e999}`:                                        "too large",
	} {
		_, err := r.Call(t.Context(), "gh.list", []byte(in))
		f := wantCode(t, err, fault.ToolInvalidArgs)
		if !strings.Contains(f.Message, want) || f.Tool != "gh.list" {
			t.Errorf("%.60s: %+v", in, f)
		}
	}
	_, err := r.Call(t.Context(), "gh.list", []byte(`{"owner":"a","perPage":5}`))
	if f := wantCode(t, err, fault.ToolInvalidArgs); f.Hint != "did you mean per_page?" {
		t.Errorf("hint %q", f.Hint)
	}
	_, err = r.Call(t.Context(), "gh.list", []byte(`{}`))
	if f := wantCode(t, err, fault.ToolInvalidArgs); f.Hint != "gh.list takes owner, per_page?, state?" {
		t.Errorf("hint %q", f.Hint)
	}
}

func TestASchemaThatTakesOtherNamesGetsThem(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{"properties":{"name":{}},"additionalProperties":true}`), tool("a.y", `{"properties":{"name":{}},"patternProperties":{"^n":{}}}`)}, call: echo}
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), p)
	for _, name := range []string{"a.x", "a.y"} {
		if a, err := r.Call(t.Context(), name, []byte(`{"names":1}`)); err != nil || string(a.Data) != `{"names":1}` {
			t.Errorf("%s: %s %v", name, a.Data, err)
		}
	}
}

func TestARefusedCallNeverReachesTheTool(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("gh.list", commits), tool("gh.drop", `{}`)}, call: echo}
	var sink audit.Memory
	r := newRun(t, mustPolicy(t, "version: 1\ntools:\n  deny: [gh.drop]\n  allow: ['gh.*']\n  ask: []\n"), &sink, p)
	_, err := r.Call(t.Context(), "gh.list", []byte(`{}`))
	wantCode(t, err, fault.ToolInvalidArgs)
	_, err = r.Call(t.Context(), "gh.drop", []byte(`{}`))
	f := wantCode(t, err, fault.DeniedTool)
	if f.Rule == "" || !strings.HasPrefix(f.Rule, "policy.yaml:") {
		t.Errorf("the rule is %q", f.Rule)
	}
	if p.calls.Load() != 0 {
		t.Fatal("the tool was called")
	}
	events := sink.Events()
	if d := events[1].Decision; d == nil || d.Kind != "" || d.Effect != "allow" {
		t.Errorf("recorded %+v", events[1])
	}
	if d := events[2].Decision; d == nil || d.Kind != "schema" || d.Code != string(fault.ToolInvalidArgs) {
		t.Errorf("recorded %+v", events[2])
	}
	if c := events[len(events)-1].Call; c == nil || c.OK || c.Code != string(fault.DeniedTool) {
		t.Errorf("recorded %+v", events[len(events)-1])
	}
}

func TestRuleLimitsAreExactUnderParallelCalls(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`), tool("a.y", `{}`), tool("a.z", `{}`)}, call: func(context.Context, Call) (Answer, error) {
		time.Sleep(100 * time.Microsecond)
		return Answer{Data: []byte("1")}, nil
	}}
	pol := mustPolicy(t, `version: 1
pii: {mode: off}
tools:
  allow:
    - {tool: a.x, limits: {calls: 20}}
    - {tool: a.y, limits: {rate: 10/h}}
    - {tool: a.z, when: '!("a.z" in calls) || calls["a.z"] < 7'}
limits: {tool_calls: 1000}
`)
	table, err := NewTable(pol, audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	hammer := func(r *Run, name string, n int) (ok int) {
		var good, bad atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range n {
					_, err := r.Call(t.Context(), name, nil)
					switch {
					case err == nil:
						good.Add(1)
					case fault.CodeOf(err) == fault.DeniedTool:
						bad.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if good.Load()+bad.Load() != int64(16*n) {
			t.Errorf("%d and %d", good.Load(), bad.Load())
		}
		return int(good.Load())
	}
	r := openRun(t, table, RunInfo{})
	if got := hammer(r, "a.x", 10); got != 20 {
		t.Errorf("calls: %d passed", got)
	}
	if got := hammer(r, "a.y", 5); got != 10 {
		t.Errorf("rate: %d passed", got)
	}
	if got := hammer(r, "a.z", 5); got != 7 {
		t.Errorf("condition: %d passed", got)
	}
	// The number of calls is the run's, the rate the table's.
	other := openRun(t, table, RunInfo{ID: "other"})
	if got := hammer(other, "a.x", 10); got != 20 {
		t.Errorf("calls in another run: %d passed", got)
	}
	if got := hammer(other, "a.y", 5); got != 0 {
		t.Errorf("rate in another run: %d passed", got)
	}
	// A session counts on.
	s := &Session{}
	if got := hammer(openRun(t, table, RunInfo{ID: "s1", Session: s}), "a.x", 1); got != 16 {
		t.Errorf("session: %d passed", got)
	}
	if got := hammer(openRun(t, table, RunInfo{ID: "s2", Session: s}), "a.x", 1); got != 4 {
		t.Errorf("session, second run: %d passed", got)
	}
}

func TestBudgetsEndTheRun(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`)}, call: func(context.Context, Call) (Answer, error) {
		return Answer{Kind: Text, Data: make([]byte, 1000)}, nil
	}}
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Limits: policy.Limits{ToolCalls: 50}})
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				if _, err := r.Call(t.Context(), "a.x", nil); err == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() > 50 || p.calls.Load() > 50 {
		t.Fatalf("%d passed", passed.Load())
	}
	wantCode(t, r.Err(), fault.LimitToolCalls)

	r = openRun(t, table, RunInfo{ID: "bytes", Limits: policy.Limits{HostBytes: 2500}})
	for range 2 {
		if _, err := r.Call(t.Context(), "a.x", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.Call(t.Context(), "a.x", nil)
	var f *Failure
	if errors.As(err, &f) {
		t.Fatal("the program could catch it")
	}
	wantCode(t, err, fault.LimitHostBytes)
	wantCode(t, r.Err(), fault.LimitHostBytes)
}

func TestAMisbehavingProviderGivesACode(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, c := range map[string]struct {
		call func(context.Context, Call) (Answer, error)
		code fault.Code
	}{
		"panics":          {func(context.Context, Call) (Answer, error) { panic("boom") }, fault.ToolFailed},
		"panics with nil": {func(context.Context, Call) (Answer, error) { var nothing *Answer; return *nothing, nil }, fault.ToolFailed},
		"hangs":           {func(context.Context, Call) (Answer, error) { <-hang; return Answer{}, nil }, fault.ToolTimeout},
		"no json":         {func(context.Context, Call) (Answer, error) { return Answer{Data: []byte("{")}, nil }, fault.ToolFailed},
		"unknown kind":    {func(context.Context, Call) (Answer, error) { return Answer{Kind: 77}, nil }, fault.ToolFailed},
		"claims an error": {func(context.Context, Call) (Answer, error) { return Answer{Kind: Error, Data: []byte("{}")}, nil }, fault.ToolFailed},
		"plain error":     {func(context.Context, Call) (Answer, error) { return Answer{}, errors.New("no luck") }, fault.ToolFailed},
		"its own code": {func(context.Context, Call) (Answer, error) {
			return Answer{}, fault.New(fault.UpstreamUnavailable, "gone")
		}, fault.UpstreamUnavailable},
		"an internal code": {func(context.Context, Call) (Answer, error) { return Answer{}, fault.New(fault.Internal, "x") }, fault.ToolFailed},
		"a cancelled code": {func(context.Context, Call) (Answer, error) { return Answer{}, context.Canceled }, fault.ToolFailed},
		"a usage code":     {func(context.Context, Call) (Answer, error) { return Answer{}, fault.New(fault.UsageConfig, "x") }, fault.ToolFailed},
		"too much":         {func(context.Context, Call) (Answer, error) { return Answer{Kind: Text, Data: make([]byte, 5000)}, nil }, fault.ToolTooLarge},
	} {
		p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{"properties":{"page":{},"other":{}}}`)}, call: c.call}
		timeout := "10m"
		if c.code == fault.ToolTimeout {
			timeout = "30ms"
		}
		r := newRun(t, mustPolicy(t, "version: 1\npii: {mode: off}\ntools:\n  allow:\n    - {tool: a.x, limits: {timeout: "+timeout+", result: 4096}}\n"), audit.None(), p)
		start := time.Now()
		_, err := r.Call(t.Context(), "a.x", nil)
		if f := wantCode(t, err, c.code); f == nil || r.Err() != nil {
			t.Errorf("%s: %v ends the run", name, err)
		} else if c.code == fault.ToolTooLarge && (f.Hint != "ask for less at once with page" || !strings.Contains(f.Message, "5000 bytes")) {
			t.Errorf("%s: %+v", name, f)
		}
		if time.Since(start) > 30*time.Second {
			t.Errorf("%s took %s", name, time.Since(start))
		}
	}
}

func TestWhatAToolSaysIsCleaned(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`)}, call: func(context.Context, Call) (Answer, error) {
		return Answer{}, errors.New("\x1b[31mred\x00\u202e" + strings.Repeat("x", 100_000) + "\xff")
	}}
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), p)
	_, err := r.Call(t.Context(), "a.x", nil)
	f := wantCode(t, err, fault.ToolFailed)
	if strings.ContainsAny(f.Message, "\x1b\x00\u202e") || !utf8.ValidString(f.Message) || len(f.Message) > maxMessage+10 {
		t.Fatalf("%.50q of %d bytes", f.Message, len(f.Message))
	}
}

func TestOnlyTheHostSetsArgumentsThatASecretFills(t *testing.T) {
	var got string
	p := &fakeProvider{tools: []catalogue.Tool{tool("crm.get", `{"properties":{"id":{"type":"integer"},"tenant":{"type":"string","minLength":3}},"required":["id","tenant"],"additionalProperties":false}`)},
		call: func(_ context.Context, c Call) (Answer, error) {
			got = string(c.Args)
			if string(c.Args) == `{"id":9,"tenant":"t0p-s3cret"}` {
				return Answer{}, errors.New("tenant t0p-s3cret has no 9")
			}
			return Answer{Data: []byte(`{"you":"sent t0p-s3cret","id":1}`)}, nil
		}}
	pol := mustPolicy(t, "version: 1\npii: {mode: off}\ntools: {allow: ['crm.*']}\naudit: {code: full, inputs: full, outputs: full}\nsecrets:\n  - {name: TENANT, from: 'env:TENANT', to: ['crm.*'], as: 'arg:tenant'}\n")
	var sink audit.Memory
	table, err := NewTable(pol, &sink, p)
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Secrets: func(_ context.Context, from string) (string, error) {
		if from != "env:TENANT" {
			return "", errors.New("unknown")
		}
		return "t0p-s3cret", nil
	}})
	r := openRun(t, table, RunInfo{})
	for _, args := range []string{`{"id":1}`, `{"id":1,"tenant":"mine"}`, `[1]`} {
		a, err := r.Call(t.Context(), "crm.get", []byte(args))
		if err != nil {
			t.Fatal(args, err)
		}
		if got != `{"id":1,"tenant":"t0p-s3cret"}` {
			t.Errorf("%s: the tool got %s", args, got)
		}
		if string(a.Data) != `{"you":"sent [secret TENANT]","id":1}` {
			t.Errorf("the program got %s", a.Data)
		}
	}
	_, err = r.Call(t.Context(), "crm.get", []byte(`{"id":9}`))
	if f := wantCode(t, err, fault.ToolFailed); f.Message != "tenant [secret TENANT] has no 9" {
		t.Errorf("the error is %q", f.Message)
	}
	for _, e := range sink.Events() {
		if b, _ := json.Marshal(e); strings.Contains(string(b), "t0p-s3cret") {
			t.Errorf("the record has the secret: %s", b)
		}
	}
	table.With(Options{})
	_, err = r.Call(t.Context(), "crm.get", []byte(`{"id":1}`))
	wantCode(t, err, fault.ToolFailed)
}

func TestASecretThatCannotBeRemovedIsRefused(t *testing.T) {
	pol := mustPolicy(t, "version: 1\ntools: {allow: ['crm.*']}\nsecrets:\n  - {name: PIN, from: 'env:PIN', to: ['crm.*'], as: 'arg:pin'}\n")
	table, err := NewTable(pol, audit.None(), &fakeProvider{tools: []catalogue.Tool{tool("crm.get", `{}`)}, call: echo})
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Secrets: func(context.Context, string) (string, error) { return "12345", nil }})
	_, err = openRun(t, table, RunInfo{}).Call(t.Context(), "crm.get", nil)
	if f := wantCode(t, err, fault.ToolFailed); !strings.Contains(f.Message, "secret PIN must have 6 to") {
		t.Error(f.Message)
	}
}

func TestLogsOutsideOfRunsHaveNoValues(t *testing.T) {
	table, err := NewTable(mustPolicy(t, "version: 1\npii: {mode: tokenize}\n"), audit.None())
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Redact("mail of ada.byron@example.org"); got != "mail of [EMAIL]" {
		t.Error(got)
	}
}

func TestADryRunDecidesAndCallsNothing(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`), tool("a.y", `{}`)}, call: echo}
	table, err := NewTable(mustPolicy(t, "version: 1\ntools:\n  allow: [a.x]\n  ask: [a.y]\n"), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{DryRun: true})
	for _, name := range []string{"a.x", "a.y"} {
		a, err := r.Call(t.Context(), name, nil)
		if err != nil || string(a.Data) != "null" {
			t.Fatal(name, string(a.Data), err)
		}
	}
	if p.calls.Load() != 0 {
		t.Fatal("a tool was called")
	}
	var got []string
	for _, c := range r.Summary().Calls {
		got = append(got, c.Tool+" "+c.Decision)
	}
	if !slices.Equal(got, []string{"a.x allow", "a.y ask"}) {
		t.Fatalf("listed %v", got)
	}
}

func TestCachingTakesTheShortestOfTheCalls(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`), tool("a.y", `{}`), tool("a.z", `{}`)}, call: echo}
	table, err := NewTable(mustPolicy(t, "version: 1\npii: {mode: off}\ntools:\n  allow:\n    - {tool: a.x, cache: 10m}\n    - {tool: a.y, cache: 1m}\n    - a.z\n"), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{})
	for _, c := range []struct {
		name string
		want time.Duration
	}{{"", -1}, {"a.x", 10 * time.Minute}, {"a.y", time.Minute}, {"a.z", 0}, {"a.x", 0}} {
		if c.name != "" {
			if _, err := r.Call(t.Context(), c.name, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Summary().Cacheable; got != c.want {
			t.Errorf("after %s: %s", c.name, got)
		}
	}
}

func TestSearchAndNamesLeaveOutWhatIsDenied(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{{Server: "gh", Name: "list_commits", Description: "list commits"}, {Server: "gh", Name: "delete_repo", Description: "delete a repository of commits"}}, call: echo}
	r := newRun(t, mustPolicy(t, "version: 1\npii: {mode: off}\ntools:\n  deny: ['gh.delete_*']\n  allow: ['gh.*']\n"), audit.None(), p)
	own := func(name, args string) string {
		t.Helper()
		a, err := r.Call(t.Context(), name, []byte(args))
		if err != nil {
			t.Fatal(name, err)
		}
		return string(a.Data)
	}
	if got := own("wexec:names", `{"server":"gh"}`); got != `["list_commits"]` {
		t.Error(got)
	}
	if got := own("wexec:names", `{}`); got != `["gh"]` {
		t.Error(got)
	}
	var found catalogue.Found
	if err := json.Unmarshal([]byte(own("wexec:search", `{"query":"commits"}`)), &found); err != nil || found.Total != 1 || found.Tools[0].Name != "gh.list_commits" || found.Tools[0].Decision != "allow" {
		t.Errorf("%+v %v", found, err)
	}
	if got := own("wexec:describe", `{"name":"gh.listCommits"}`); !strings.Contains(got, "list_commits") {
		t.Error(got)
	}
	_, err := r.Call(t.Context(), "wexec:describe", []byte(`{"name":"gh.delete_repo"}`))
	wantCode(t, err, fault.ToolUnknown)
	_, err = r.Call(t.Context(), "wexec:explode", []byte(`{}`))
	wantCode(t, err, fault.ToolUnknown)
	_, err = r.Call(t.Context(), "gh.delete_repo", nil)
	wantCode(t, err, fault.DeniedTool)
}

func TestOutputsThatBreakTheirSchemaAreAWarning(t *testing.T) {
	tl := tool("a.x", `{}`)
	tl.OutputSchema = json.RawMessage(`{"type":"object","required":["n"]}`)
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), &fakeProvider{tools: []catalogue.Tool{tl}, call: func(context.Context, Call) (Answer, error) { return Answer{Data: []byte(`{"m":1}`)}, nil }})
	if _, err := r.Call(t.Context(), "a.x", nil); err != nil {
		t.Fatal(err)
	}
	if w := r.Summary().Warnings; len(w) != 1 || !strings.Contains(w[0], `"n" is missing`) {
		t.Fatalf("%q", w)
	}
}

// native is a provider of the prelude's calls.
type native struct {
	fakeProvider
	own []string
}

func (n *native) PreludeCalls() []string             { return n.own }
func (n *native) Writes(string, map[string]any) bool { return true }

// panickyProvider panics when it is closed.
type panickyProvider struct{ fakeProvider }

func (*panickyProvider) Close() error { panic("torn") }

func TestAPanicOfAProviderStaysInside(t *testing.T) {
	table, err := NewTable(nil, audit.None(), &panickyProvider{}, Func("math.add", add))
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err == nil {
		t.Fatal("the panic is not reported")
	}
	if _, err := table.Open(t.Context(), RunInfo{ID: "x"}); fault.CodeOf(err) != fault.Cancelled {
		t.Fatal("a closed table opens runs:", err)
	}
}

func TestReservedNamesBelongToNativeProviders(t *testing.T) {
	for name, list := range map[string][]Provider{
		"a server of a reserved name": {&fakeProvider{tools: []catalogue.Tool{{Server: "wexec:fetch", Name: "x"}}}},
		"two for one call":            {&native{own: []string{"wexec:fetch"}}, &native{own: []string{"wexec:fetch"}}},
		"a call that is not reserved": {&native{own: []string{"github.x"}}},
		"no provider":                 {nil},
	} {
		if _, err := NewTable(nil, audit.None(), list...); fault.CodeOf(err) != fault.UsageConfig {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersAreValidUTF8: every guest gets the same text, whatever bytes a
// server sent.
func TestAnswersAreValidUTF8(t *testing.T) {
	for _, answer := range []Answer{
		{Kind: JSON, Data: []byte("{\"a\":\"x\xff\xfey\"}")},
		{Kind: JSON, Data: []byte("{\"a\":\"x\xff\xfey\"}"), Checked: true},
		{Kind: Content, Data: []byte("[{\"type\":\"text\",\"text\":\"x\xed\xa0\x80y\"}]"), Checked: true},
		{Kind: Text, Data: []byte("x\xc3y")},
	} {
		p := &fakeProvider{tools: []catalogue.Tool{tool("s.t", "")}, call: func(context.Context, Call) (Answer, error) { return answer, nil }}
		r := newRun(t, mustPolicy(t, allowAll), &audit.Memory{}, p)
		a, err := r.Call(t.Context(), "s.t", []byte("{}"))
		if err != nil || !strings.Contains(string(a.Data), "x\ufffdy") || !utf8.Valid(a.Data) {
			t.Errorf("%q became %q, %v", answer.Data, a.Data, err)
		}
	}
}
