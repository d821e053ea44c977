package mcpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/timing"
	"github.com/wexec/wexec/policy"
)

const openPolicy = `version: 1
tools:
  ask: ["shop.delete_*"]
  allow: ["shop.{list,slow}_*"]
approvals: {remember: run}
pii: {mode: "off"}
`

// started counts the calls that the tools have had.
type shop struct{ started, deleted atomic.Int32 }

func (s *shop) providers() []hostfns.Provider {
	type none struct{}
	type item struct {
		ID int `json:"id"`
	}
	return []hostfns.Provider{
		hostfns.Func("shop.list_items", func(_ context.Context, in struct {
			Limit int `json:"limit,omitempty"`
		}) ([]item, error) {
			s.started.Add(1)
			out := make([]item, max(in.Limit, 1))
			for i := range out {
				out[i].ID = i + 1
			}
			return out, nil
		}),
		hostfns.Func("shop.slow_items", func(ctx context.Context, _ none) (string, error) {
			s.started.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
			}
			return "late", ctx.Err()
		}),
		hostfns.Func("shop.slow_meet", func(_ context.Context, in struct {
			Of int32 `json:"of"`
		}) (bool, error) {
			for s.started.Add(1); s.started.Load() < in.Of; time.Sleep(time.Millisecond) {
			}
			return true, nil
		}),
		hostfns.Func("shop.delete_item", func(_ context.Context, in item) (string, error) {
			s.deleted.Add(1)
			return fmt.Sprintf("deleted %d", in.ID), nil
		}),
	}
}

// newServer makes a server over a shop. Compiled guests are kept between runs
// of the tests.
func newServer(t *testing.T, rules string, change func(*Options), more ...hostfns.Provider) *Server {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), more...)
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.New(t.Context(), engine.Config{Cache: filepath.Join(os.TempDir(), "wexec-tests"), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(eng.Close(), table.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, errs := table.Catalogue(t.Context()); len(errs) > 0 {
		t.Fatal(errs)
	}
	o := Options{Engine: eng, Table: table, Version: "test"}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// connect joins a client to a server in memory, with the protocol version
// given, or the newest.
func connect(t *testing.T, s *Server, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connectLogged(t, s, version, o, io.Discard)
}

// connectLogged is connect with all that the server reads and writes, in order.
func connectLogged(t *testing.T, s *Server, version string, o *mcp.ClientOptions, wire io.Writer) *mcp.ClientSession {
	t.Helper()
	here, bare := mcp.NewInMemoryTransports()
	there := &mcp.LoggingTransport{Transport: bare, Writer: wire}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, there) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o).
		Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		cancel()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the server does not end")
		}
	})
	return session
}

var versions = []string{"2025-06-18", "2026-07-28"}

func execute(t *testing.T, c *mcp.ClientSession, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	if args["language"] == nil {
		args["language"] = "javascript"
	}
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func resultOf(t *testing.T, res *mcp.CallToolResult) engine.Result {
	t.Helper()
	out, err := ResultOf(res)
	if err != nil {
		t.Fatal(err)
	}
	return *out
}

func textOf(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func TestAProgramsValueIsStructuredWithItsTextBeside(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	for _, version := range versions {
		c := connect(t, s, version, nil)
		res := execute(t, c, map[string]any{"code": "const l = await tools.shop.list_items({limit: args.n}); console.log('seen'); return {n: l.length}", "args": map[string]any{"n": 7}})
		if got := textOf(res); got != "{\"n\":7}" || res.IsError {
			t.Errorf("%s: text %q, error %v", version, got, res.IsError)
		}
		if r := resultOf(t, res); r.Status != engine.StatusOK || string(r.Value) != `{"n":7}` || r.Usage.ToolCalls != 1 || r.Stdout != "seen\n" {
			t.Errorf("%s: result %+v", version, r)
		}
	}
}

// TestTheOutputOfAProgramWithoutAValueIsTheAnswer checks that a program that prints
// its answer gets no advice: nothing is wrong.
func TestTheOutputOfAProgramWithoutAValueIsTheAnswer(t *testing.T) {
	c := connect(t, newServer(t, openPolicy, nil, (&shop{}).providers()...), "", nil)
	for language, code := range map[string]string{
		"javascript": "console.log('first'); const n = 40; console.log(n + 2)",
		"typescript": "const n: number = 40; console.log('first'); console.log(n + 2)",
		"python":     "print('first')\nprint(40 + 2)",
	} {
		res := execute(t, c, map[string]any{"language": language, "code": code})
		if got := textOf(res); got != "first\n42" {
			t.Errorf("%s: %q", language, got)
		}
	}
	if got := textOf(execute(t, c, map[string]any{"language": "python", "code": "print('seen')\nreturn 1"})); strings.Contains(got, "hint") {
		t.Errorf("a program with a value gets a hint: %q", got)
	}
	if got := textOf(execute(t, c, map[string]any{"language": "python", "code": "pass"})); !strings.Contains(got, "no value") {
		t.Errorf("nothing at all: %q", got)
	}
}

// TestALimitNamesTheToolThatIsWaitedFor tries longer limits until the program has
// begun to wait, for a busy machine.
func TestALimitNamesTheToolThatIsWaitedFor(t *testing.T) {
	c := connect(t, newServer(t, openPolicy, nil, (&shop{}).providers()...), "", nil)
	for language, code := range map[string]string{
		"javascript": "await tools.shop.slow_items({})",
		"typescript": "await Promise.all([tools.shop.slow_items({}), tools.shop.list_items({limit: 1 as number})])",
		"python":     "from tools import shop\nshop.slow_items()",
	} {
		text := ""
		for limit := 1000; limit < 20_000 && !strings.Contains(text, "shop.slow_items"); limit *= 2 {
			text = textOf(execute(t, c, map[string]any{"language": language, "code": code, "limits": map[string]any{"time": limit}}))
		}
		if !strings.Contains(text, ": it was waiting for shop.slow_items [limit.time]") || !strings.Contains(text, "\nhint: ask shop.slow_items for less, or allow more with limits.time: ") {
			t.Errorf("%s: %q", language, text)
		}
	}
	if text := textOf(execute(t, c, map[string]any{"code": "const p = tools.shop.slow_items({}); for (;;);", "limits": map[string]any{"time": 1000}})); strings.Contains(text, "slow_items [") {
		t.Errorf("a program that computes waits for nothing: %q", text)
	}
}

func TestFaultsAreSortedIntoErrorsOfTheProtocolAndOfTheProgram(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	for name, args := range map[string]map[string]any{
		"a limit below zero":     {"language": "javascript", "code": "1", "limits": map[string]any{"fuel": -1}},
		"a parameter of no type": {"language": "javascript", "code": 5},
		"no code":                {"language": "javascript"},
	} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: args})
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	for code, want := range map[string]string{
		"throw new Error('no stock')":             "guest.exception",
		"return 1 +":                              "guest.syntax",
		"for (;;);":                               "limit.fuel",
		"await tools.shop.list_item()":            "tool.unknown",
		"await tools.shop.list_items({limt: 1})":  "tool.invalid_args",
		"await tools.bank.list_accounts({id: 1})": "tool.unknown",
	} {
		res := execute(t, c, map[string]any{"code": code, "limits": map[string]any{"fuel": 5e6}})
		if !res.IsError || !strings.Contains(textOf(res), "["+want+"]") {
			t.Errorf("%s: error %v, %s", code, res.IsError, textOf(res))
		}
		if r := resultOf(t, res); r.Error == nil || string(r.Error.Code) != want || r.Usage.Fuel == 0 && want != "guest.syntax" {
			t.Errorf("%s: %+v", code, r.Error)
		}
	}
}

// TestWrongNamesAreAnsweredWithTheNearestOne has mistakes that a model can correct: an
// error of the protocol may never reach it.
func TestWrongNamesAreAnsweredWithTheNearestOne(t *testing.T) {
	c := connect(t, newServer(t, openPolicy, nil, (&shop{}).providers()...), "", nil)
	for want, args := range map[string]map[string]any{
		`unknown language "pythn": did you mean "python"?`:                                                                          {"language": "pythn", "code": "1"},
		`unknown language "perl": use javascript, typescript or python`:                                                             {"language": "perl", "code": "1"},
		`no language given: use javascript, typescript or python`:                                                                   {"language": "", "code": "1"},
		`unknown argument "langauge": did you mean "language"?`:                                                                     {"langauge": "python", "code": "1"},
		`unknown argument "actor": use language, code, args, intent, session, limits`:                                               {"code": "1", "actor": map[string]any{"id": "root"}},
		`unknown limit "tool_call": did you mean "tool_calls"?`:                                                                     {"code": "1", "limits": map[string]any{"tool_call": 1}},
		`unknown argument "` + strings.Repeat("x", 64) + "… (99 bytes in all)\": use language, code, args, intent, session, limits": {"code": "1", strings.Repeat("x", 99): 1},
	} {
		if res := execute(t, c, args); !res.IsError || textOf(res) != want || res.StructuredContent != nil {
			t.Errorf("error %v, %q, want %q", res.IsError, textOf(res), want)
		}
	}
}

// TestAnAnswerIsSmall counts what a model reads: the content, or the structured
// content in clients that prefer it.
func TestAnAnswerIsSmall(t *testing.T) {
	c := connect(t, newServer(t, openPolicy, nil, (&shop{}).providers()...), "", nil)
	written := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	res := execute(t, c, map[string]any{"code": "await tools.shop.list_items({limit: 3}); return [2, 4, 6]"})
	if got := written(res.Content); len(got) >= 60 {
		t.Errorf("content of %d bytes: %s", len(got), got)
	}
	if got := written(res.StructuredContent); got != `{"status":"ok","value":[2,4,6]}` {
		t.Errorf("structured content %s", got)
	}
	if r := resultOf(t, res); r.RunID == "" || len(r.Calls) != 1 || r.Provenance.Code == "" || r.Usage.Fuel == 0 || r.Started.IsZero() {
		t.Errorf("the rest is not in _meta: %+v", r)
	}
	for code, times := range map[string]int{
		"console.log('se' + 'en'); return 1":                1,
		"console.error('se' + 'en'); return 1":              1,
		"console.log('se' + 'en'); throw new Error('stop')": 1,
	} {
		if res := execute(t, c, map[string]any{"code": code}); strings.Count(written(res), "seen") != times {
			t.Errorf("%s: the output is not there once: %s", code, written(res))
		}
	}
	printed := execute(t, c, map[string]any{"code": "console.log('x'.repeat(1e5)); throw new Error('stop')"})
	if len(textOf(printed)) > 4000 || len(printed.Content) != 2 {
		t.Errorf("a failure repeats %d bytes of output, with %d parts", len(textOf(printed)), len(printed.Content))
	}
}

func TestInvalidParamsOfTheOtherToolsAreErrors(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	for want, call := range map[string]*mcp.CallToolParams{
		"use name, summary or full":     {Name: "search_tools", Arguments: map[string]any{"query": "items", "detail": "ful"}},
		"use typescript or python":      {Name: "describe_tools", Arguments: map[string]any{"names": []string{"shop.list_items"}, "language": "perl"}},
		"names must have 1 to 20 names": {Name: "describe_tools", Arguments: map[string]any{"names": []string{}}},
		"there is no waiting run":       {Name: "wait_run", Arguments: map[string]any{"run_id": "nobody"}},
	} {
		_, err := c.CallTool(t.Context(), call)
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wire.Message, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestArgumentsWrittenAsATextAreTakenAsWhatTheySay(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	for _, one := range []struct {
		args any
		want string
	}{
		{`{"n": 4}`, `{"n":4}`},
		{" [1, 2]", `[1,2]`},
		{map[string]any{"n": 4}, `{"n":4}`},
		{"{not json", `"{not json"`},
		{"4", `"4"`},
	} {
		res := execute(t, c, map[string]any{"code": "return JSON.stringify(args)", "args": one.args})
		if got := textOf(res); got != one.want {
			t.Errorf("%v is seen as %s", one.args, got)
		}
	}
}

func TestAFaultOfTheHostIsAnInternalError(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte(openPolicy))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, deadSink{}, (&shop{}).providers()...)
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.New(t.Context(), engine.Config{Cache: filepath.Join(os.TempDir(), "wexec-tests"), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	c := connect(t, New(Options{Engine: eng, Table: table}), "", nil)
	_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "1"}})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError {
		t.Fatalf("%v", err)
	}
}

// deadSink is a record that cannot be written.
type deadSink struct{}

func (deadSink) Record(context.Context, audit.Event) (string, error) {
	return "", errors.New("the disk is full")
}

func TestCancellationEndsTheRunWithin100Milliseconds(t *testing.T) {
	for _, code := range []string{"for (;;);", "await tools.shop.slow_items({})"} {
		timing.Within(t, 100*time.Millisecond, code, func() time.Duration { return cancelled(t, code) })
	}
}

// cancelled runs a program, cancels the call and says how long the run went on.
func cancelled(t *testing.T, code string) time.Duration {
	t.Helper()
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	execute(t, c, map[string]any{"code": "1"}) // compiled
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": code}})
		failed <- err
	}()
	run := onlyRun(t, s)
	time.Sleep(50 * time.Millisecond) // it is in the middle of it
	begun := time.Now()
	cancel()
	if err := <-failed; err == nil {
		t.Fatalf("%s: the call ended well", code)
	}
	select {
	case <-run.done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: the run goes on", code)
	}
	return time.Since(begun)
}

// onlyRun is the one run that is going, once it is.
func onlyRun(t *testing.T, s *Server) *run {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.runs.mu.Lock()
		for _, r := range s.runs.all {
			if len(s.runs.all) == 1 {
				s.runs.mu.Unlock()
				return r
			}
		}
		n := len(s.runs.all)
		s.runs.mu.Unlock()
		if n > 1 || time.Now().After(deadline) {
			t.Fatalf("%d runs are going", n)
		}
	}
}

func TestCallsOfOneClientRunSideBySide(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	var all sync.WaitGroup
	var good atomic.Int32
	for i := range 16 {
		all.Go(func() {
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
				"language": "javascript", "code": "await tools.shop.slow_meet({of: 16}); return args", "args": i}})
			if err == nil && textOf(res) == fmt.Sprint(i) {
				good.Add(1)
			}
		})
	}
	all.Wait()
	if good.Load() != 16 {
		t.Errorf("%d of 16 calls came back with their own value", good.Load())
	}
}

// transcript is what went over a wire, in order.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// until gives the transcript once some words are in it: a message is noted
// after it was sent.
func (w *transcript) until(t *testing.T, words string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		text := w.text.String()
		w.mu.Unlock()
		if strings.Contains(text, words) || time.Now().After(deadline) {
			return text
		}
	}
}

func TestProgressAndLogsArriveBeforeTheAnswer(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	for _, version := range versions {
		var wire transcript
		c := connectLogged(t, s, version, nil, &wire)
		if version < roundTrips {
			if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
				t.Fatal(err)
			}
		}
		params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript",
			"code": "await tools.shop.list_items({}); await tools.shop.list_items({}); return 1"}}
		params.SetProgressToken("p1")
		if _, err := c.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		// The client's library hands notifications over concurrently with the answer: the
		// order is the wire's.
		text := wire.until(t, "\"structuredContent\"")
		answer := strings.LastIndex(text, "\"structuredContent\"")
		before := text[:max(answer, 0)]
		if n := strings.Count(before, "notifications/progress"); answer < 0 || n < 2 || !strings.Contains(before, "shop.list_items answered") {
			t.Errorf("%s: %d notifications of progress before the answer\n%s", version, n, text)
		}
		if n := strings.Count(before, "notifications/message"); version < roundTrips && n < 2 {
			t.Errorf("%s: %d log messages before the answer\n%s", version, n, text)
		}
	}
}

func TestASessionKeepsItsGlobalsForItsClientAlone(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	a, b := connect(t, s, "", nil), connect(t, s, "", nil)
	execute(t, a, map[string]any{"code": "globalThis.seen = 41", "session": "work"})
	if got := textOf(execute(t, a, map[string]any{"code": "return globalThis.seen + 1", "session": "work"})); got != "42" {
		t.Errorf("the session answers %q", got)
	}
	if got := textOf(execute(t, b, map[string]any{"code": "return typeof globalThis.seen", "session": "work"})); got != "undefined" {
		t.Errorf("another client sees %q", got)
	}
	_ = a.Close()
	for range 3000 {
		if len(s.o.Engine.Sessions(s.table(), "tester")) == 1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("sessions left: %v", s.o.Engine.Sessions(s.table(), "tester"))
}
