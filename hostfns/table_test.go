package hostfns

import (
	"context"
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
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

func TestTheTypeOfAResultIsTheOutputSchemaOfAFunction(t *testing.T) {
	type custom struct{ big.Int }
	type tree struct {
		Name string  `json:"name"`
		More []*tree `json:"more,omitempty"`
	}
	type order struct {
		Total float64         `json:"total" jsonschema:"with tax"`
		At    time.Time       `json:"at"`
		Data  []byte          `json:"data"`
		By    map[int]bool    `json:"by"`
		Own   custom          `json:"own"`
		Note  *string         `json:"note,omitempty"`
		Any   any             `json:"any"`
		Skip  chan int        `json:"-"`
		Inner struct{ A int } `json:"inner"`
		Tree  tree            `json:"tree"`
	}
	const plain = `{"type":"object","properties":{"total":{"type":"number","description":"with tax"}`
	for _, c := range []struct {
		p    Provider
		want string // begins the schema
	}{
		{result[order](), plain}, {result[*order](), strings.Replace(plain, `"object"`, `["null","object"]`, 1)},
		{result[[]string](), `{"type":["null","array"],"items":{"type":"string"}}`}, {result[int](), `{"type":"integer"}`},
		{result[[]byte](), ""}, {result[json.RawMessage](), ""}, {result[any](), ""}, {result[tree](), ""}, {result[custom](), ""},
		{result[struct {
			N int `json:"n,string"`
		}](), ""},
	} {
		table, err := NewTable(mustPolicy(t, allowAll), audit.None(), c.p)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		have, _ := table.Catalogue(t.Context())
		if got := string(have.Tools()[0].OutputSchema); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for name, p := range map[string]Provider{
		"chan int": result[struct{ C []chan int }](), "func()": result[map[string]func()](), "complex128": result[complex128](), "bool": result[map[bool]int](),
	} {
		if table, err := NewTable(nil, audit.None(), p); table != nil || fault.CodeOf(err) != fault.UsageConfig ||
			!strings.Contains(err.Error(), "output schema of x.y") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// result is a function with a type of result.
func result[Out any]() Provider {
	return Func("x.y", func(context.Context, struct{}) (out Out, err error) { return out, nil })
}

// TestAnswersMatchTheOutputSchemaOfTheirFunction encodes values at the edges of what
// a schema says.
func TestAnswersMatchTheOutputSchemaOfTheirFunction(t *testing.T) {
	type inner struct {
		At   time.Time        `json:"at"`
		Data []byte           `json:"data"`
		By   map[int]bool     `json:"by"`
		List []*int           `json:"list"`
		Raw  json.RawMessage  `json:"raw"`
		IP   netip.Addr       `json:"ip"`
		Sub  map[string][]int `json:"sub"`
	}
	n := 3
	for _, v := range []inner{{}, {At: time.Now(), Data: []byte{1}, By: map[int]bool{1: true}, List: []*int{nil, &n}, Raw: json.RawMessage("[1]"), Sub: map[string][]int{"a": nil}}} {
		doc, err := outputSchema(reflect.TypeFor[inner]())
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(doc, &s); err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(plain); err != nil {
			t.Errorf("%s does not match %s: %v", data, doc, err)
		}
	}
}
