package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/policy"
)

// memoryJournal keeps the records of a run, up to a number of them.
type memoryJournal struct {
	mu      sync.Mutex
	records [][]byte
}

func (j *memoryJournal) Append(_ context.Context, record []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, slices.Clone(record))
	return nil
}

// effects is a server that counts what it did.
type effects struct {
	mu   sync.Mutex
	done map[int]int
	read int
}

// total returns how many calls changed something.
func (s *effects) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.done {
		n += times
	}
	return n
}

type number struct {
	N int `json:"n"`
}

func (s *effects) table(t testing.TB, p *policy.Policy, more ...hostfns.Provider) *hostfns.Table {
	t.Helper()
	count := func(in number) int {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.done == nil {
			s.done = map[int]int{}
		}
		s.done[in.N]++
		return in.N * 2
	}
	table, err := hostfns.NewTable(p, audit.None(), append(more,
		hostfns.Func("x.write", func(_ context.Context, in number) (int, error) { return count(in), nil }),
		hostfns.Func("x.ask", func(_ context.Context, in number) (int, error) { return count(in), nil }),
		hostfns.Func("x.fail", func(_ context.Context, in number) (int, error) { count(in); return 0, errors.New("no luck") }),
		hostfns.Func("x.read", func(_ context.Context, in number) (int, error) {
			s.mu.Lock()
			s.read++
			s.mu.Unlock()
			return in.N + 1, nil
		}, hostfns.ReadOnly()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// randomProgram returns a program of parallel calls, sleeps, failures and output.
func randomProgram(r *rand.Rand, language string) string {
	n := 0
	var b strings.Builder
	call := func(tool string) string {
		n++
		if language == Python {
			return fmt.Sprintf("tools.x.%s(n=%d)", tool, n)
		}
		return fmt.Sprintf("tools.x.%s({n: %d})", tool, n)
	}
	some := func() string { return call([]string{"write", "read", "write"}[r.IntN(3)]) }
	if language == Python {
		b.WriteString("import asyncio, time, random\nout = []\n")
	} else {
		b.WriteString("const out = [];\n")
	}
	for step := range 3 + r.IntN(4) {
		switch k := r.IntN(6); {
		case k == 0 && language == Python:
			fmt.Fprintf(&b, "out.append(await asyncio.gather(%s, %s, %s))\n", some(), some(), some())
		case k == 0:
			fmt.Fprintf(&b, "out.push(await Promise.all([%s, %s, %s]));\n", some(), some(), some())
		case k == 1 && language == Python:
			fmt.Fprintf(&b, "try:\n  %s\nexcept Exception as e:\n  out.append('failed')\nfinally:\n  out.append(%s)\n", call("fail"), some())
		case k == 1:
			fmt.Fprintf(&b, "try { await %s } catch (e) { out.push('failed') } finally { out.push(await %s) }\n", call("fail"), some())
		case k == 2 && language == Python:
			b.WriteString("time.sleep(0.002)\nout.append(int(random.random() * 1e6))\n")
		case k == 2:
			b.WriteString("await new Promise(r => setTimeout(r, 2)); out.push(Math.random());\n")
		case k == 3 && language == Python:
			fmt.Fprintf(&b, "print('step %d', %s)\n", step, some())
		case k == 3:
			fmt.Fprintf(&b, "console.log('step %d', await %s);\n", step, some())
		case language == Python:
			fmt.Fprintf(&b, "for i in range(3):\n  out.append(%s)\n", some())
		default:
			fmt.Fprintf(&b, "for (let i = 0; i < 3; i++) out.push(await %s);\n", some())
		}
	}
	return b.String() + "return out"
}

// programsToPark returns how many random programs are cut.
func programsToPark(t *testing.T) int {
	switch text := os.Getenv("WEXEC_PARK_PROGRAMS"); {
	case text != "":
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case testing.Short() || onInterpreter():
		return 10
	}
	return 100
}

// TestADurableRunGoesOnFromEachOfItsRecords cuts the journals of random programs after
// each record, as the end of a process does, and goes on: value, output and calls are
// those of the undisturbed run, and its fuel if the run is deterministic. Calls that
// change something are made once if they were not announced, and else not. If one was
// announced and has no answer, the program gets tool.unknown_outcome and can end in
// another way.
func TestADurableRunGoesOnFromEachOfItsRecords(t *testing.T) {
	e := newReal(t, Config{})
	p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(19, 1))
	programs := programsToPark(t)
	cuts, same, unknown := 0, 0, 0
	for i := range programs {
		language := []string{JavaScript, Python}[i%2]
		code := randomProgram(r, language)
		var s effects
		whole := &memoryJournal{}
		req := Request{ID: fmt.Sprint("run", i), Language: language, Code: code, Table: s.table(t, p), Journal: whole, Deterministic: i%4 < 2}
		want, err := e.Run(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		announced := 0
		for cut := 1; cut <= len(whole.records); cut++ {
			var record struct{ Intents []json.RawMessage }
			if err := json.Unmarshal(whole.records[cut-1], &record); err != nil {
				t.Fatal(err)
			}
			announced += len(record.Intents)
			var again effects
			var shown bytes.Buffer
			req := req
			req.Table, req.Journal, req.Records, req.Output.Stdout = again.table(t, p), &memoryJournal{}, whole.records[:cut], &shown
			got, err := e.Run(t.Context(), req)
			if err != nil && fault.CodeOf(err) != fault.ToolUnknownOutcome {
				t.Fatalf("%s\ncut after %d of %d: %v", code, cut, len(whole.records), err)
			}
			cuts++
			if !strings.HasSuffix(got.Stdout, shown.String()) {
				t.Fatalf("the output %q does not end with what was handed out, %q", got.Stdout, shown.String())
			}
			left := s.total() - announced
			if slices.ContainsFunc(got.Calls, func(c Call) bool { return c.Code == fault.ToolUnknownOutcome }) {
				if unknown++; again.total() > left {
					t.Fatalf("%s\ncut after %d of %d: %d calls changed something, want at most %d", code, cut, len(whole.records), again.total(), left)
				}
				continue
			}
			same++
			// Answers that are not in the records may come at other moments.
			if err != nil || string(got.Value) != string(want.Value) || got.Stdout != want.Stdout || req.Deterministic && got.Usage.Fuel != want.Usage.Fuel ||
				len(got.Calls) != len(want.Calls) || again.total() != left {
				t.Fatalf("%s\ncut after %d of %d: %v, value %s, output %q, fuel %d, %d calls, %d of them changed something; want %s, %q, %d, %d, %d", code, cut, len(whole.records),
					err, got.Value, got.Stdout, got.Usage.Fuel, len(got.Calls), again.total(), want.Value, want.Stdout, want.Usage.Fuel, len(want.Calls), left)
			}
		}
	}
	t.Logf("%d programs; went on after each of %d records: %d times to the same end, %d times with an unknown outcome", programs, cuts, same, unknown)
}

// TestCallsHaveKeysThatStayTheSameAfterGoingOn cuts the journal of a program that calls
// an MCP server and a web server. What is called again has the same key. A GET without
// an answer is made again.
func TestCallsHaveKeysThatStayTheSameAfterGoingOn(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		note(fmt.Sprint("note ", r.Params.Meta["io.wexec/call"]))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, nil
	})
	routes := http.NewServeMux()
	routes.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	routes.HandleFunc("/page", func(_ http.ResponseWriter, r *http.Request) {
		note(r.Method + " " + r.Header.Get("Idempotency-Key"))
	})
	web := httptest.NewServer(routes)
	t.Cleanup(web.Close)
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {allow: [web.note]}\nnetwork: {allow: [{host: 127.0.0.1, ports: ["+port+"], methods: [GET, HEAD, POST, PUT]}]}\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	servers, err := upstream.New([]upstream.Server{{Name: "web", Transport: upstream.HTTP, URL: web.URL + "/mcp"}}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), servers, fetch.New(fetch.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	e, whole := newReal(t, Config{}), &memoryJournal{}
	req := Request{ID: "run-keys", Language: JavaScript, Table: table, Journal: whole, Code: `
		const url = "` + web.URL + `/page", out = [await tools.web.note({})];
		out.push((await fetch(url, {method: "POST", body: "x"})).status);
		out.push((await fetch(url)).status, (await fetch(url, {method: "HEAD"})).status);
		out.push((await fetch(url, {method: "PUT", headers: {"idempotency-key": "own"}})).status);
		return out`}
	want, err := e.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	first := seen
	if !slices.Equal(first, []string{"note run-keys/1", "POST run-keys/2", "GET ", "HEAD ", "PUT own"}) {
		t.Fatalf("the servers saw %q", first)
	}
	// Before and after each call that changes something there is a record.
	rest := [][]string{nil, first[1:], nil, first[2:], nil, nil}
	if len(whole.records) != len(rest) {
		t.Fatalf("%d records, want %d", len(whole.records), len(rest))
	}
	for cut := 1; cut <= len(whole.records); cut++ {
		seen = nil
		req := req
		req.Journal, req.Records = &memoryJournal{}, whole.records[:cut]
		got, err := e.Run(t.Context(), req)
		announced := cut%2 == 1
		if announced != (fault.CodeOf(err) == fault.ToolUnknownOutcome) || !announced && string(got.Value) != string(want.Value) {
			t.Errorf("cut after %d: %v, %s, want %s", cut, err, got.Value, want.Value)
		}
		if !slices.Equal(seen, rest[cut-1]) {
			t.Errorf("cut after %d: the servers saw %q, want %q", cut, seen, rest[cut-1])
		}
	}
}

// askLater answers questions once they have an answer.
type askLater struct {
	mu      sync.Mutex
	answers map[string]bool
	asked   []string
}

func (a *askLater) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	a.mu.Lock()
	yes, ok := a.answers[q.ID]
	a.asked = append(a.asked, q.ID)
	a.mu.Unlock()
	if ok {
		return hostfns.Reply{Approved: yes, By: "socket"}, nil
	}
	<-ctx.Done()
	return hostfns.Reply{}, ctx.Err()
}

func TestARunParksWhileAPersonIsAskedAndGoesOnWithTheAnswer(t *testing.T) {
	e := newReal(t, Config{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  ask: [x.ask]\n  allow: [\"x.*\"]\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for language, code := range map[string]string{
		JavaScript: "const a = await tools.x.write({n: 1}); console.log('before');\nconst [b, c] = await Promise.all([tools.x.ask({n: 2}), tools.x.write({n: 3})]); return [a, b, c]",
		Python:     "import asyncio\na = tools.x.write(n=1)\nprint('before')\nb, c = await asyncio.gather(tools.x.ask(n=2), tools.x.write(n=3))\nreturn [a, b, c]",
	} {
		var s effects
		j := &memoryJournal{}
		people := &askLater{answers: map[string]bool{}}
		var shown bytes.Buffer
		req := Request{ID: "run-" + language, Language: language, Code: code, Table: s.table(t, p), Journal: j, Asker: people, ParkAfter: 20 * time.Millisecond}
		req.Output.Stdout = &shown
		res, err := e.Run(t.Context(), req)
		if err != nil || res.Status != StatusWaiting || res.Parked == nil || len(res.Waiting) != 1 {
			t.Fatalf("%s: %v, %+v", language, err, res)
		}
		people.mu.Lock() // its question is possibly still open
		people.answers[res.Waiting[0].ID] = true
		people.mu.Unlock()
		req.Records = slices.Clone(j.records)
		res, err = e.Run(t.Context(), req)
		if err != nil || string(res.Value) != "[2,4,6]" || res.Status != StatusOK {
			t.Fatalf("%s: %v, %s, asked %v", language, err, res.Value, people.asked)
		}
		for n := 1; n <= 3; n++ {
			if s.done[n] != 1 {
				t.Errorf("%s: call %d was done %d times", language, n, s.done[n])
			}
		}
		if shown.String() != "before\n" {
			t.Errorf("%s: handed out %q", language, shown.String())
		}
	}
}

func TestARunParksInALongSleepAndGoesOnAfterIt(t *testing.T) {
	e := newReal(t, Config{})
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	for code, language := range map[string]string{
		"const t = Date.now(); await new Promise(r => setTimeout(r, 600)); return Date.now() - t >= 600":                 JavaScript,
		"import asyncio, time\nt = time.time()\nawait asyncio.sleep(0.6)\nreturn time.time() - t >= 0.6":                 Python,
		"import time\nt = time.time()\ntime.sleep(0.001)\ntime.sleep(0.6)\nreturn time.time() - t >= 0.6":                Python,
		"import time\nt = time.time()\ntools.x.write(n=1)\ntime.sleep(0.6)\nreturn time.time() - t >= 0.6":               Python,
		"def f(s):\n  import time\n  time.sleep(s)\n  return True\nreturn f(0.3) and f(0.3) and tools.x.write(n=1) == 2": Python,
	} {
		var s effects
		j := &memoryJournal{}
		req := Request{ID: "run-" + language, Language: language, Code: code, Table: s.table(t, p), Journal: j, ParkAfter: 10 * time.Millisecond}
		for parked := 0; ; parked++ {
			res, err := e.Run(t.Context(), req)
			if err != nil {
				t.Fatalf("%s: %v", code, err)
			}
			if res.Status != StatusWaiting {
				if string(res.Value) != "true" || parked == 0 || s.total() > 1 {
					t.Errorf("%s: %s after parking %d times, with %d calls", code, res.Value, parked, s.total())
				}
				break
			}
			if res.Parked.Until.IsZero() {
				t.Fatalf("%s: the run does not say when it goes on", language)
			}
			time.Sleep(time.Until(res.Parked.Until))
			req.Records = slices.Clone(j.records)
		}
	}
}

func TestASleepOfADurableRunDoesNotCountAgainstItsTime(t *testing.T) {
	e := newReal(t, Config{})
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	var s effects
	res, err := e.Run(t.Context(), Request{Language: Python, Code: "import time\ntime.sleep(1.6)\nreturn 1", Table: s.table(t, p),
		Journal: &memoryJournal{}, ParkAfter: time.Hour, Limits: Limits{Time: 1500 * time.Millisecond}})
	wantValue(t, res, err, "1")
}

func TestTheNoOfAPersonIsRememberedAfterGoingOn(t *testing.T) {
	e := newReal(t, Config{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  ask: [x.ask]\n  allow: [\"x.*\"]\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var s effects
	j := &memoryJournal{}
	people := &refusing{}
	req := Request{ID: "run-no", Language: JavaScript, Table: s.table(t, p), Journal: j, Asker: people, Code: `
		const ask = n => tools.x.ask({n}).catch(e => e.code);
		return [await ask(1), await tools.x.write({n: 2}), await ask(1), await ask(3)]`}
	const want = `["denied.approval",4,"denied.approval","denied.approval"]`
	res, err := e.Run(t.Context(), req)
	wantValue(t, res, err, want)
	if people.asked != 2 {
		t.Fatalf("a person was asked %d times, want once for each question", people.asked)
	}
	people.asked = 0
	req.Journal, req.Records = &memoryJournal{}, j.records[:2] // up to the answer of the write
	res, err = e.Run(t.Context(), req)
	wantValue(t, res, err, want)
	if people.asked != 1 {
		t.Errorf("after going on a person was asked %d times, want for the new question only", people.asked)
	}
}

// refusing is a person who denies each question.
type refusing struct{ asked int }

func (r *refusing) Ask(context.Context, hostfns.Question) (hostfns.Reply, error) {
	r.asked++
	return hostfns.Reply{By: "socket"}, nil
}

func TestRecordsOfAnotherRunAreRefusedAndNothingIsCalled(t *testing.T) {
	e := newReal(t, Config{})
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	var s effects
	j := &memoryJournal{}
	req := Request{ID: "run1", Language: JavaScript, Code: "return [await tools.x.write({n: 1}), await tools.x.write({n: 2})]", Table: s.table(t, p), Journal: j}
	if _, err := e.Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	s.done = nil
	for name, change := range map[string]func(*Request){
		"another id":      func(r *Request) { r.ID = "run2" },
		"another program": func(r *Request) { r.Code += " " },
		"other arguments": func(r *Request) { r.Args = []byte("1") },
		"a cut record":    func(r *Request) { r.Records[1] = r.Records[1][:10] },
		"a lost record":   func(r *Request) { r.Records = r.Records[1:] },
		"a session":       func(r *Request) { r.Session = "s" },
		"no journal":      func(r *Request) { r.Journal = nil },
	} {
		req := req
		req.Records = slices.Clone(j.records)
		change(&req)
		if _, err := e.Run(t.Context(), req); fault.CodeOf(err) != fault.UsageRun || len(s.done) > 0 {
			t.Errorf("%s: %v, done %v", name, err, s.done)
		}
	}
	req.Records = j.records[:1] // the first write is announced and has no end
	if _, err := e.Run(t.Context(), req); fault.CodeOf(err) != fault.ToolUnknownOutcome || len(s.done) > 0 {
		t.Errorf("%v, done %v", err, s.done)
	}
}

// sent are signals to runs by name. One that is not there yet never comes.
type sent map[string][]string

func (s sent) Await(ctx context.Context, run, name string, n int) (json.RawMessage, error) {
	if n < len(s[name]) {
		return json.RawMessage(s[name][n]), nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestARunParksUntilASignalComes(t *testing.T) {
	e := newReal(t, Config{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow: [\"x.*\"]\npii: {mode: tokenize}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var s effects
	j := &memoryJournal{}
	signals := sent{"go": {`{"by":"ada@example.com"}`}}
	req := Request{ID: "run-signals", Language: JavaScript, Table: s.table(t, p), Journal: j, Signals: signals, ParkAfter: 20 * time.Millisecond, Code: `
		const first = await waitFor("go");
		const late = await waitFor("never", {timeout: 0.001}).catch(e => e.code);
		const [second, third] = await Promise.all([waitFor("go"), waitFor("go", {timeout: 3600})]);
		return [first.by, late, second, third]`}
	for i, next := range [][]string{{"2"}, {"3"}} {
		before := time.Now()
		res, err := e.Run(t.Context(), req)
		if err != nil || res.Status != StatusWaiting || res.Parked == nil || !slices.Equal(res.Parked.Signals, []string{"go"}) || len(res.Waiting) != 0 {
			t.Fatalf("%v, %+v", err, res)
		}
		if until := res.Parked.Until; i == 0 && until.After(time.Now().Add(time.Hour)) || until.Before(before.Add(50*time.Minute)) {
			t.Errorf("the run goes on at %s", until)
		}
		signals = sent{"go": slices.Concat(signals["go"], next)} // a wait may still have the old ones
		req.Signals = signals
		req.Records = slices.Clone(j.records)
	}
	res, err := e.Run(t.Context(), req)
	// Calls that wait at the same time get the signals in any order.
	if v := string(res.Value); err != nil || v != `["[EMAIL_1]","tool.timeout",2,3]` && v != `["[EMAIL_1]","tool.timeout",3,2]` {
		t.Errorf("%v, %s", err, res.Value)
	}
}

func TestPythonWaitsForSignals(t *testing.T) {
	e := newReal(t, Config{})
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	var s effects
	res, err := e.Run(t.Context(), Request{Language: Python, Table: s.table(t, p), Signals: sent{"go": {`{"by":1}`, "2", "3"}}, Code: `
first = wait_for("go")
try:
    wait_for("never", timeout=0.001)
except ToolError as e:
    late = e.code
sleep(0.001)
await tools.aio.sleep(0.001)
return [first["by"], late, waitFor("go", {"timeout": 5}), await tools.aio.wait_for("go")]`})
	if err != nil || string(res.Value) != `[1,"tool.timeout",2,3]` {
		t.Errorf("%v, %s", err, res.Value)
	}
}

func TestASignalIsHostileInput(t *testing.T) {
	e := newReal(t, Config{})
	var s effects
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	large := strings.Repeat("x", 2<<20)
	for code, want := range map[string]fault.Code{
		`waitFor("")`: fault.ToolInvalidArgs, `waitFor("a b")`: fault.ToolInvalidArgs, `waitFor("x".repeat(200))`: fault.ToolInvalidArgs,
		`waitFor("a", {timeout: -1})`: fault.ToolInvalidArgs, `waitFor("a", {timeout: "soon"})`: fault.ToolInvalidArgs,
		`waitFor("large")`: fault.ToolTooLarge, `waitFor("broken")`: fault.ToolFailed,
	} {
		res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: "return await " + code + ".catch(e => e.code)", Table: s.table(t, p),
			Signals: sent{"large": {`"` + large + `"`}, "broken": {`{"a":`}}})
		if err != nil || string(res.Value) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %v, %s, want %s", code, err, res.Value, want)
		}
	}
	res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: `return await waitFor("a").catch(e => e.message)`, Table: s.table(t, p)})
	if err != nil || !strings.Contains(string(res.Value), "nobody can send signals") {
		t.Errorf("%v, %s", err, res.Value)
	}
}

// flood has a large signal each time.
type flood struct{ data json.RawMessage }

func (f flood) Await(context.Context, string, string, int) (json.RawMessage, error) {
	return f.data, nil
}
