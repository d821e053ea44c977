package hostfns

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

func TestAServerIsStartedOnlyWhenItIsNamed(t *testing.T) {
	var started []string
	var mu sync.Mutex
	server := func(name string) Provider {
		return &fakeProvider{tools: []catalogue.Tool{{Server: name, Name: "do_it"}}, call: echo, list: func(context.Context) ([]catalogue.Tool, error) {
			mu.Lock()
			defer mu.Unlock()
			started = append(started, name)
			return []catalogue.Tool{{Server: name, Name: "do_it"}, {Server: "other", Name: "stolen"}, {Name: ""}, {Server: name, Name: "do_it", Description: "twice"}}, nil
		}}
	}
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), server("one"), server("my-two"), server("a.b"))
	for _, name := range []string{"my-two.do_it", "my_two.doIt", "myTwo.do_it", "mcp__my-two__do_it", "tools.my_two.do_it"} {
		if _, err := r.Call(t.Context(), name, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Call(t.Context(), "a.b.do_it", nil); err != nil {
		t.Error(err)
	}
	if !slices.Equal(started, []string{"my-two", "a.b"}) {
		t.Errorf("started %v", started)
	}
	_, err := r.Call(t.Context(), "my_two.stolen", nil)
	wantCode(t, err, fault.ToolUnknown)
	_, err = r.Call(t.Context(), "my_to.do_it", nil)
	if f := wantCode(t, err, fault.ToolUnknown); !strings.Contains(f.Hint, "my_two") {
		t.Errorf("hint %q", f.Hint)
	}
}

func TestABrokenServerCostsItsOwnTools(t *testing.T) {
	broken := &fakeProvider{tools: []catalogue.Tool{tool("bad.x", `{}`)}, list: func(context.Context) ([]catalogue.Tool, error) { panic("boom") }}
	slow := &fakeProvider{tools: []catalogue.Tool{tool("slow.x", `{}`)}, list: func(ctx context.Context) ([]catalogue.Tool, error) { select {} }}
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), broken, slow, Func("math.add", add))
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Listing: 30 * time.Millisecond})
	r := openRun(t, table, RunInfo{})
	if _, err := r.Call(t.Context(), "math.add", []byte(`[1,2]`)); err != nil {
		t.Error(err)
	}
	_, err = r.Call(t.Context(), "bad.x", nil)
	wantCode(t, err, fault.UpstreamUnavailable)
	_, err = r.Call(t.Context(), "slow.x", nil)
	wantCode(t, err, fault.UpstreamUnavailable)
	c, errs := table.Catalogue(t.Context())
	if len(c.Tools()) != 1 || len(errs) != 2 {
		t.Errorf("%v %v", c.Tools(), errs)
	}
}

func TestASearchLeavesOutAServerThatHangs(t *testing.T) {
	slow := &fakeProvider{tools: []catalogue.Tool{tool("slow.x", `{}`)}, list: func(ctx context.Context) ([]catalogue.Tool, error) { select {} }}
	for patience := 20 * time.Millisecond; ; patience *= 4 {
		table, err := NewTable(mustPolicy(t, allowAll), audit.None(), slow, Func("math.add", add))
		if err != nil {
			t.Fatal(err)
		}
		table.With(Options{Straggler: patience})
		r := openRun(t, table, RunInfo{})
		a, err := r.Call(t.Context(), "wexec:search", []byte(`{"query":"add"}`))
		w := r.Summary().Warnings
		if err == nil && strings.Contains(string(a.Data), "math.add") && len(w) == 1 {
			return
		}
		if patience > 5*time.Second { // more than any machine needs for the other server
			t.Fatalf("%s %v, warned %q", a.Data, err, w)
		}
	}
}

func TestChangedToolsAreListedAgain(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`)}, call: echo}
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{})
	if _, err := r.Call(t.Context(), "a.x", nil); err != nil {
		t.Fatal(err)
	}
	before := func() string { table.Catalogue(t.Context()); return table.Digest() }()
	p.tools = []catalogue.Tool{tool("a.y", `{}`)}
	p.changed("a")
	_, err = r.Call(t.Context(), "a.x", nil)
	wantCode(t, err, fault.ToolUnknown)
	if _, err := r.Call(t.Context(), "a.y", nil); err != nil {
		t.Fatal(err)
	}
	table.Catalogue(t.Context())
	if table.Digest() == before {
		t.Error("the digest stays")
	}
}

func TestASchemaThatCannotBeUsedCostsItsCheckOnly(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.foreign", `{"$schema":"urn:mine","required":["x"]}`), tool("a.cyclic", `{"$ref":"#"}`),
		tool("a.ecma", `{"properties":{"n":{"type":"string","pattern":"^(?=x)"}}}`)}, call: echo}
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{})
	for _, name := range []string{"a.foreign", "a.cyclic", "a.ecma"} {
		if _, err := r.Call(t.Context(), name, []byte(`{"n":"y"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := table.Catalogue(t.Context())
	for _, name := range []string{"a.foreign", "a.ecma"} {
		if tl, _ := c.Lookup(name); table.Warning(tl) == "" {
			t.Errorf("%s has no warning", name)
		}
	}
	if w := r.Summary().Warnings; len(w) == 0 {
		t.Error("no warning about a schema that was not checked")
	}
}

func TestAnInputTypeWithoutASchemaFailsWhenTheTableIsMade(t *testing.T) {
	bad := Func("math.wait", func(context.Context, struct{ C chan int }) (int, error) { return 0, nil })
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), bad)
	if table != nil || fault.CodeOf(err) != fault.UsageConfig || !strings.Contains(err.Error(), "input schema of math.wait") {
		t.Errorf("%v, %v", table, err)
	}
}
