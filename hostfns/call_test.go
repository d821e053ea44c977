package hostfns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

type sum struct {
	A int `json:"a" jsonschema:"the first"`
	B int `json:"b,omitempty"`
}

func add(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }

// mustPolicy parses a policy.
func mustPolicy(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const allowAll = "version: 1\ntools:\n  allow: ['*']\npii: {mode: off}\n"

// newRun opens a run of a new table.
func newRun(t testing.TB, p *policy.Policy, sink audit.Sink, providers ...Provider) *Run {
	t.Helper()
	table, err := NewTable(p, sink, providers...)
	if err != nil {
		t.Fatal(err)
	}
	return openRun(t, table, RunInfo{})
}

func openRun(t testing.TB, table *Table, info RunInfo) *Run {
	t.Helper()
	if info.ID == "" {
		info.ID = "run"
	}
	r, err := table.Open(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(context.Background(), audit.End{Status: "ok"}) })
	return r
}

func wantCode(t testing.TB, err error, code fault.Code) *Failure {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Fatalf("got %v (%s), want %s", err, fault.CodeOf(err), code)
	}
	var f *Failure
	errors.As(err, &f)
	return f
}

func TestAnAllowedCallIsDecidedRecordedAndMade(t *testing.T) {
	var sink audit.Memory
	r := newRun(t, mustPolicy(t, allowAll), &sink, Func("math.add", add))
	a, err := r.Call(t.Context(), "math.add", []byte(`{"a": 1, "b": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	if a.Kind != JSON || string(a.Data) != "3" {
		t.Fatalf("got %v %s", a.Kind, a.Data)
	}
	var kinds []string
	for _, e := range sink.Events() {
		kinds = append(kinds, string(e.Kind()))
	}
	if got := strings.Join(kinds, " "); got != "start decision call" {
		t.Fatalf("recorded %s", got)
	}
}

func TestNilPolicyDenies(t *testing.T) {
	var sink audit.Memory
	called := false
	r := newRun(t, nil, &sink, Func("math.add", func(ctx context.Context, in sum) (int, error) { called = true; return 0, nil }))
	_, err := r.Call(t.Context(), "math.add", []byte(`{"a": 1}`))
	wantCode(t, err, fault.DeniedTool)
	if called {
		t.Fatal("a denied tool was called")
	}
}

func TestNoRecordNoCall(t *testing.T) {
	var sink audit.Memory
	called := false
	r := newRun(t, mustPolicy(t, allowAll), &sink, Func("math.add", func(ctx context.Context, in sum) (int, error) { called = true; return 0, nil }))
	sink.Fail(errors.New("disk full"))
	_, err := r.Call(t.Context(), "math.add", []byte(`{"a": 1}`))
	wantCode(t, err, fault.AuditUnavailable)
	if called {
		t.Fatal("a tool was called without a record")
	}
	wantCode(t, r.Err(), fault.AuditUnavailable)
	_, err = r.Call(t.Context(), "math.add", []byte(`{"a": 1}`))
	wantCode(t, err, fault.AuditUnavailable)
}

func TestOpenNeedsARecord(t *testing.T) {
	var sink audit.Memory
	sink.Fail(errors.New("disk full"))
	table, err := NewTable(nil, &sink)
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.Open(t.Context(), RunInfo{ID: "x"})
	wantCode(t, err, fault.AuditUnavailable)
}

func TestATableNeedsASink(t *testing.T) {
	if _, err := NewTable(nil, nil); fault.CodeOf(err) != fault.UsageConfig {
		t.Fatal(err)
	}
}

// heap is a guest's memory.
type heap []byte

func (h heap) Read(ptr, n uint32) ([]byte, bool) {
	if uint64(ptr)+uint64(n) > uint64(len(h)) {
		return nil, false
	}
	return h[ptr : ptr+n], true
}

func (h heap) Write(ptr uint32, b []byte) bool {
	if uint64(ptr)+uint64(len(b)) > uint64(len(h)) {
		return false
	}
	copy(h[ptr:], b)
	return true
}

// start starts a call as a guest does.
func start(t testing.TB, c *Calls, name, args string) int64 {
	t.Helper()
	mem := heap(name + args)
	id, err := c.Start(mem, 0, uint32(len(name)), uint32(len(name)), uint32(len(args)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// read reads an answer as a guest does.
func read(t testing.TB, c *Calls, id int64) (Kind, string) {
	t.Helper()
	size := c.Size(id)
	if size < 0 {
		t.Fatalf("call %d has no answer", id)
	}
	mem := make(heap, uint32(size))
	n, err := c.Read(mem, id, 0, uint32(size))
	if err != nil || uint32(n) != uint32(size) {
		t.Fatal(n, err)
	}
	return Kind(size >> 32), string(mem)
}

func TestAGuestHasManyCallsInFlight(t *testing.T) {
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), Func("math.add", add))
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	want := map[int64]string{}
	for i := range 50 {
		id := start(t, c, "math.add", fmt.Sprintf(`{"a": %d, "b": 1}`, i))
		want[id] = fmt.Sprint(i + 1)
	}
	for range 50 {
		id, err := c.Wait(0, -1)
		if err != nil {
			t.Fatal(err)
		}
		kind, data := read(t, c, id)
		if kind != JSON || data != want[id] {
			t.Fatalf("call %d answered %s, want %s", id, data, want[id])
		}
		delete(want, id)
	}
	if id, err := c.Wait(0, -1); id != -1 || err != nil {
		t.Fatal("there is nothing left to wait for", id, err)
	}
}

func TestAnOrderedRunDeliversInTheOrderOfStarts(t *testing.T) {
	slow := Func("t.sleep", func(ctx context.Context, in struct{ MS int }) (int, error) {
		time.Sleep(time.Duration(in.MS) * time.Millisecond)
		return in.MS, nil
	})
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), slow)
	c := NewCalls(r, CallsOptions{Ordered: true})
	defer c.Close()
	for _, ms := range []int{30, 1, 20, 5, 0} {
		start(t, c, "t.sleep", fmt.Sprintf(`{"MS": %d}`, ms))
	}
	for want := int64(1); want <= 5; want++ {
		id, err := c.Wait(0, time.Microsecond) // timers wait for calls in flight
		if err != nil || id != want {
			t.Fatalf("got %d %v, want %d", id, err, want)
		}
	}
}

func TestAFailureReachesTheGuestAsAnAnswer(t *testing.T) {
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), Func("math.add", add))
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	id := start(t, c, "math.ad", `{}`)
	if _, err := c.Wait(id, -1); err != nil {
		t.Fatal(err)
	}
	kind, data := read(t, c, id)
	var f Failure
	if err := json.Unmarshal([]byte(data), &f); err != nil || kind != Error {
		t.Fatal(kind, data)
	}
	if f.Code != fault.ToolUnknown || !strings.Contains(f.Hint, "math.add") {
		t.Fatalf("got %+v", f)
	}
}

// A program repeats the token of a long value. What the host makes of it is
// bounded and counted, and made only if somebody reads it.
func TestValuesAreMadeForThoseWhoReadThemOnly(t *testing.T) {
	const long = 100_000
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.get", `{}`), tool("a.read", `{}`), tool("a.send", `{}`), tool("a.plain", `{}`)}, call: func(_ context.Context, c Call) (Answer, error) {
		if c.Tool == "get" {
			return Answer{Kind: Text, Data: bytes.Repeat([]byte("x"), long)}, nil
		}
		return Answer{Data: strconv.AppendInt(nil, int64(len(c.Args)), 10)}, nil
	}}
	rules := mustPolicy(t, `version: 1
tools: {allow: [a.get, a.send, a.plain, {tool: a.read, when: 'args.a != ""'}]}
pii: {mode: tokenize, patterns: {blob: "x+"}, reveal_to: [a.send]}
`)
	for _, c := range []struct {
		tool        string
		times, most int
		code        fault.Code
	}{
		{"a.plain", 1000, 20_000, ""},
		{"a.read", 10, 2_000_000, ""},
		{"a.read", 1000, 5_000_000, fault.ToolInvalidArgs},
		{"a.send", 100, 11_000_000, ""},
		{"a.send", 1000, 21_000_000, fault.LimitHostBytes},
	} {
		table, err := NewTable(rules, audit.None(), p)
		if err != nil {
			t.Fatal(err)
		}
		r := openRun(t, table, RunInfo{Limits: policy.Limits{HostBytes: 20 << 20}})
		a, err := r.Call(t.Context(), "a.get", nil)
		if err != nil {
			t.Fatal(err)
		}
		before := r.bytes.Load()
		_, err = r.Call(t.Context(), c.tool, []byte(`{"a":"`+strings.Repeat(string(a.Data), c.times)+`"}`))
		if (err != nil) != (c.code != "") || err != nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s, %d values: %v", c.tool, c.times, err)
		}
		if charged := int(r.bytes.Load() - before); charged > c.most || c.tool != "a.plain" && c.code == "" && charged < c.times*long {
			t.Errorf("%s, %d values: %d bytes were charged", c.tool, c.times, charged)
		}
	}
}

func TestACallThatIsCancelledRevealsNoMore(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.get", `{}`), tool("a.send", `{}`)}, call: func(context.Context, Call) (Answer, error) {
		return Answer{Kind: Text, Data: bytes.Repeat([]byte("x"), 100_000)}, nil
	}}
	r := newRun(t, mustPolicy(t, "version: 1\ntools: {allow: ['a.*']}\npii: {mode: tokenize, patterns: {blob: 'x+'}, reveal_to: [a.send]}\n"), audit.None(), p)
	if _, err := r.Call(t.Context(), "a.get", nil); err != nil {
		t.Fatal(err)
	}
	tool, err := r.table.resolve(t.Context(), "a.send")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := r.bytes.Load()
	c := call{run: r, name: "a.send", tool: tool, args: arguments{raw: []byte(`{"a":"` + strings.Repeat("[BLOB_1]", 1000) + `"}`)}}
	if err := c.reveal(ctx); fault.CodeOf(err) != fault.Cancelled || r.bytes.Load() != before {
		t.Errorf("%v after %d bytes", err, r.bytes.Load()-before)
	}
}

// The policy and the schema see the integer that the tool gets, not the nearest
// float64.
func TestALargeIntegerIsDecidedAsItIsSent(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.even", `{"properties":{"n":{"multipleOf":2}}}`), tool("a.one", `{}`), tool("a.less", `{}`)}, call: echo}
	r := newRun(t, mustPolicy(t, `version: 1
pii: {mode: off}
tools:
  allow: [a.even, {tool: a.one, when: args.n == 9007199254740992}, {tool: a.less, when: args.n <= 100}]
`), audit.None(), p)
	for _, c := range []struct {
		tool, args, sent string
		code             fault.Code
	}{
		{"a.one", `{"n":9007199254740992}`, "", ""},
		{"a.one", `{"n":9007199254740993}`, "", fault.DeniedTool},
		{"a.one", `[9.007199254740993e15]`, "", fault.ToolInvalidArgs},
		{"a.one", `{"n":12345678901234567890123}`, "", fault.DeniedTool},
		{"a.even", `{"n":9007199254740993}`, "", fault.ToolInvalidArgs},
		{"a.even", `{"n":18446744073709551618}`, "", ""},
		{"a.even", `{"n":1e400}`, "", fault.ToolInvalidArgs},
		{"a.less", `{"n":-0}`, "", ""},
		{"a.less", `{"n":100.0}`, "", ""},
		{"a.less", `{"n":100.000000000000000001}`, `{"n":100}`, ""}, // what was decided is sent
		{"a.less", `{"n":1e-400}`, `{"n":0}`, ""},
		{"a.less", `{"n":0.1}`, "", ""},
	} {
		a, err := r.Call(t.Context(), c.tool, []byte(c.args))
		if fault.CodeOf(err) != c.code && (err != nil || c.code != "") {
			t.Errorf("%s %s: %v", c.tool, c.args, err)
		}
		if want := cmp.Or(c.sent, c.args); err == nil && string(a.Data) != want {
			t.Errorf("%s %s was sent as %s, not %s", c.tool, c.args, a.Data, want)
		}
	}
}

// The arguments of a call that is not made get the failure that the call would get.
func TestArgumentsAreCheckedWithoutACall(t *testing.T) {
	p := &fakeProvider{tools: []catalogue.Tool{
		tool("a.x", `{"type":"object","required":["owner","kind","key"],"properties":{"owner":{"type":"string"},"limit":{"type":"integer"},"kind":{"type":"string","default":"all"},"key":{"type":"string"}}}`),
		tool("a.closed", `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}`), tool("a.any", ``),
	}, call: echo}
	table, err := NewTable(mustPolicy(t, "version: 1\nsecrets:\n  - {name: key, from: env:KEY, to: [a.x], as: arg:key}\n"), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, form, message, hint string }{
		{"a.x", `{}`, "", ""},
		{"a.x", `{"fields":{"owner":{}}}`, "", ""},
		{"a.x", `{"fields":{"owner":"me","key":1}}`, "", ""}, // the secret replaces it
		{"a.x", `{"fields":{"limit":5}}`, `args: "owner" is missing; allowed: "key", "kind", "limit", "owner"`, "a.x takes owner, kind, key, limit?"},
		{"a.x", `{"fields":{"limit":5},"open":true}`, "", ""},
		{"a.x", `{"fields":{"owner":"me","limit":"5"}}`, "args.limit: expected an integer, got a string", "a.x takes owner, kind, key, limit?"},
		{"a.x", `{"fields":{"owner":"me","limt":5}}`, "args.limt: there is no argument of that name", "did you mean limit?"},
		{"a.x", `{"fields":{"limt":5},"open":true}`, "", ""}, // limit may be among the others
		{"a.x", `["me"]`, "", ""},
		{"a.x", `[5]`, "args.owner: expected a string, got an integer", "a.x takes owner, kind, key, limit?"},
		{"a.x", `["me",{},{},{},{}]`, "", ""},
		{"a.x", `["me","all","k",1,2]`, "5 arguments by position, but the tool has 4", "a.x takes owner, kind, key, limit?"},
		{"a.closed", `{"fields":{"id":{}},"open":true}`, "", ""},
		{"a.closed", `{"fields":{"other":{}},"open":true}`, "args.other: there is no argument of that name", "a.closed takes id?"},
		{"a.any", `{"fields":{"x":1}}`, "", ""},
	} {
		f, err := table.CheckArguments(t.Context(), c.tool, []byte(c.form), nil)
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.form, err)
			continue
		}
		if f == nil {
			f = &Failure{}
		}
		if f.Message != c.message || f.Hint != c.hint {
			t.Errorf("%s %s: %q, hint %q", c.tool, c.form, f.Message, f.Hint)
		}
	}
	for _, form := range []string{``, `{`, `{"a":1}`, `[{"a":1}]`} {
		if f, err := table.CheckArguments(t.Context(), "a.x", []byte(form), nil); err == nil {
			t.Errorf("%q: %v", form, f)
		}
	}
	if _, err := table.CheckArguments(t.Context(), "a.none", []byte(`{}`), nil); err == nil {
		t.Error("an unknown tool was checked")
	}
	if p.calls.Load() != 0 {
		t.Error("a tool was called")
	}
}

// A check that has to end leaves the call undone, charged for what was checked.
func TestCheckingArgumentsEndsWithTheCallAndIsCharged(t *testing.T) {
	doc := `{"properties":{"a":{"allOf":[` + strings.Repeat(`{"pattern":"^(a|b|ab)*$"},`, 3000) + `{}]}}}`
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", doc)}, call: echo}
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Limits: policy.Limits{HostBytes: 2 << 20}})
	args := []byte(`{"a":"` + strings.Repeat("ab", 50_000) + `"}`)
	_, err = r.Call(t.Context(), "a.x", args)
	wantCode(t, err, fault.LimitHostBytes)

	r = openRun(t, table, RunInfo{ID: "cancelled"})
	resolved, err := table.resolve(t.Context(), "a.x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	entered, left := 0, 0
	c := call{run: r, name: "a.x", tool: resolved, core: func(context.Context) (func(), error) {
		entered++
		return func() { left++ }, nil
	}}
	for _, one := range []struct{ args, cores int }{{0, 0}, {1, 1}} {
		given := [][]byte{[]byte(`{"a":"ab"}`), args}[one.args]
		var f *Failure
		if c.args, f = resolved.parse(ctx, given, (*payer)(r)); f != nil {
			t.Fatal(f)
		}
		c.outgoing = c.args
		if err := c.checkArguments(ctx); err != nil || entered != one.cores || left != entered {
			t.Errorf("%.20s: %v, took %d cores and gave %d back", given, err, entered, left)
		}
	}
	cancel()
	before := r.bytes.Load()
	if err := c.checkArguments(ctx); fault.CodeOf(err) != fault.Cancelled || r.bytes.Load() != before {
		t.Errorf("%v, charged %d bytes", err, r.bytes.Load()-before)
	}
	if p.calls.Load() != 0 {
		t.Error("the tool was called")
	}
}

// Finding a misspelled name takes little, however many names there are.
func TestManyUnknownArgumentsAreRefusedQuickly(t *testing.T) {
	var doc, args strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&doc, `"some_long_property_name_%d":{},`, i)
	}
	for i := range 100_000 {
		fmt.Fprintf(&args, `"same_lang_praperty_nime_%d":1,`, i)
	}
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{"properties":{`+doc.String()+`"z":{}},"additionalProperties":false}`)}, call: echo}
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), p)
	start := time.Now()
	_, err := r.Call(t.Context(), "a.x", []byte(`{`+args.String()+`"z":1}`))
	wantCode(t, err, fault.ToolInvalidArgs)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
