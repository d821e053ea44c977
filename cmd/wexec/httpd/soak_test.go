package httpd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

// soakClients is how many clients send requests at the same time, and soakRequests how
// many they send, unless WEXEC_SOAK is over before.
const (
	soakClients  = 64
	soakRequests = 200_000
)

// soakQuota is how many runs a day the token may start that is over its quota.
const soakQuota = 20

// soak is a server under load, and what clients know of it.
type soak struct {
	loopback
	t       *testing.T
	tokens  map[string]string
	clients []*mcp.ClientSession
	bulk    string
	day     int // of the first request, in UTC

	sent atomic.Int64
	mu   sync.Mutex
	runs map[string]expected      // that were acknowledged, by id
	took map[string]time.Duration // of all requests of a kind
	all  map[string]int
}

// expected is a run that was acknowledged.
type expected struct{ intent, code string }

// TestSoak sends requests of every kind from many clients, for as long as WEXEC_SOAK
// says. In the end each run that was acknowledged is in the store once, the counts of
// uses match, and the server holds no more memory, goroutines and descriptors than
// after a fifth of the requests.
func TestSoak(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("WEXEC_SOAK"))
	if err != nil {
		t.Skip("needs WEXEC_SOAK, the duration: 40s")
	}
	var called atomic.Int64
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	for _, name := range []string{"ping", "ask"} {
		mcp.AddTool(tools, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			if name == "ping" {
				called.Add(1)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
		})
	}
	s := &soak{t: t, tokens: map[string]string{}, runs: map[string]expected{}, took: map[string]time.Duration{}, all: map[string]int{}, bulk: strings.Repeat("x", maxBody)}
	s.loopback = newLoopback(t, testpg.Store(t), files{"tenants/default/mcp.json": serveMCP(t, tools),
		"tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.ping'], ask: ['p.ask']}\n"})
	for name, token := range map[string]store.Token{
		"person": {Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}},
		"agent":  {Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead}},
		"poor":   {Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}, Quotas: store.Quotas{RunsPerDay: soakQuota}},
	} {
		token.Tenant, token.Name = "default", name
		if s.tokens[name], _, err = s.server.service.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	for _, code := range []string{"1", "# Python"} { // compile the guests
		if _, err := s.post(http.DefaultClient, "agent", "?wait=5m", code, "warm"+code, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	s.day = begun.UTC().YearDay()
	s.load(span/5, soakRequests/5)
	first := s.measure()
	s.load(span-time.Since(begun), soakRequests)
	last := s.measure()
	t.Logf("%d requests of %d clients in %v", s.sent.Load(), soakClients, time.Since(begun).Round(time.Second))
	for _, kind := range slices.Sorted(maps.Keys(s.all)) {
		t.Logf("%26s %7d requests %8.1f ms each", kind, s.all[kind], float64(s.took[kind].Microseconds())/1000/float64(s.all[kind]))
	}
	t.Logf("after a fifth: %s", first)
	t.Logf("  in the end: %s", last)
	remembered := 300 * int64(len(s.runs)) // by this test
	if last.heap > first.heap+remembered+16<<20 || last.goroutines > first.goroutines+20 || last.descriptors > first.descriptors+10 {
		t.Error("memory, goroutines or descriptors are not level")
	}
	s.account(called.Load())
}

// kinds are the kinds of requests with their shares. One returns an error if the answer
// is not what it has to be.
func (s *soak) kinds() []struct {
	name  string
	share int
	send  func(client *http.Client, number int) error
} {
	type kind = struct {
		name  string
		share int
		send  func(client *http.Client, number int) error
	}
	program := func(code, want string) func(*http.Client, int) error {
		return func(c *http.Client, n int) error {
			_, err := s.post(c, "agent", "?wait=5m", code, intentOf(n), "", want)
			return err
		}
	}
	return []kind{
		{"run", 300, program("return 1+1", "")},
		{"output", 60, program("for (let i = 0; i < 50; i++) console.log(i)", "")},
		{"tool", 100, program("return await tools.p.ping()", "")},
		{"timer", 60, program("await new Promise(r => setTimeout(r, 20)); return 1", "")},
		{"exception", 50, program("throw Error('no')", "guest.exception")},
		{"time over", 10, program("for (;;) {}", "limit.time")},
		{"python", 30, s.python},
		{"answered with 202", 80, s.later},
		{"events cut off", 50, s.cutOff},
		{"cancelled", 50, s.cancelled},
		{"client that leaves", 40, s.leaving},
		{"idempotent, sent twice", 50, s.twice},
		{"list", 40, s.list},
		{"question", 20, s.question},
		{"body over the bound", 1, s.bulky},
		{"wrong token", 30, s.wrong},
		{"over the quota", 20, s.over},
		{"over MCP", 20, s.agent},
	}
}

// load sends requests until a span is over or a number of all are sent.
func (s *soak) load(span time.Duration, requests int64) {
	kinds := s.kinds()
	total := 0
	for _, k := range kinds {
		total += k.share
	}
	end := time.Now().Add(span)
	transport := &http.Transport{MaxIdleConnsPerHost: soakClients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 6 * time.Minute}
	for i := range 4 {
		session, err := mcp.NewClient(&mcp.Implementation{Name: fmt.Sprint("client", i), Version: "1"}, nil).Connect(s.t.Context(),
			&mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(s.tokens["agent"])}}, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clients = append(s.clients, session)
	}
	var all sync.WaitGroup
	for i := range soakClients {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 5 * time.Millisecond) // the door admits a flood from one address slowly
			for time.Now().Before(end) && !s.t.Failed() {
				n := s.sent.Add(1)
				if n > requests {
					s.sent.Add(-1)
					return
				}
				at, k := rand.IntN(total), 0
				for ; at >= kinds[k].share; k++ {
					at -= kinds[k].share
				}
				begun := time.Now()
				if err := kinds[k].send(client, int(n)); err != nil {
					s.t.Errorf("%s: %v", kinds[k].name, err)
				}
				s.mu.Lock()
				s.took[kinds[k].name] += time.Since(begun)
				s.all[kinds[k].name]++
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
	for _, session := range s.clients {
		_ = session.Close()
	}
	s.clients = nil
	until(s.t, "no run is open", func() bool {
		q, err := s.store.Queue(s.t.Context(), store.KindRun, "")
		return err == nil && q == store.Queued{}
	})
}

func intentOf(n int) string { return "r" + strconv.Itoa(n) }

// soakAnswer is what clients read of an answer.
type soakAnswer struct {
	status int
	RunID  string `json:"run_id"`
	State  string
	Code   string // of a problem
	Error  struct{ Code string }

	Waiting []struct{ ID string }
}

// send sends a request.
func (s *soak) send(ctx context.Context, client *http.Client, token, method, path, body, key string) (a soakAnswer, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[token])
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.status = res.StatusCode
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("%d %s: %w", res.StatusCode, data, err)
	}
	return a, nil
}

// body is the request for a run.
func body(language, code, intent string) string {
	data, _ := json.Marshal(map[string]any{"language": language, "code": code, "intent": intent, "limits": map[string]any{"time": "300ms", "fuel": int64(1e12)}})
	return string(data)
}

// post sends a program and remembers the run. It has to end with a code, which is "-"
// if the run goes on.
func (s *soak) post(client *http.Client, token, query, code, intent, key, want string) (soakAnswer, error) {
	language := "javascript"
	if strings.HasPrefix(code, "#") {
		language = "python"
	}
	a, err := s.send(s.t.Context(), client, token, "POST", "/v1/runs"+query, body(language, code, intent), key)
	switch {
	case err != nil:
		return a, err
	case want == "-" && a.status != http.StatusAccepted && a.status != http.StatusOK, want != "-" && (a.status != http.StatusOK || a.Error.Code != want && a.Error.Code != "limit.time"):
		return a, fmt.Errorf("%+v", a)
	}
	code = a.Error.Code
	if want == "-" {
		code = want
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, ok := s.runs[a.RunID]; ok && other.intent != intent {
		return a, fmt.Errorf("%s is the run of %s and %s", a.RunID, other.intent, intent)
	}
	s.runs[a.RunID] = expected{intent, code}
	return a, nil
}

func (s *soak) python(c *http.Client, n int) error {
	_, err := s.post(c, "agent", "?wait=5m", "# sum\nsum(range(10))", intentOf(n), "", "")
	return err
}

func (s *soak) later(c *http.Client, n int) error {
	a, err := s.post(c, "agent", "?wait=0", "await new Promise(r => setTimeout(r, 10)); return 1", intentOf(n), "", "-")
	if err != nil || n%3 == 0 { // this client does not come back
		return err
	}
	for a.State != "done" {
		time.Sleep(20 * time.Millisecond)
		if a, err = s.send(s.t.Context(), c, "agent", "GET", "/v1/runs/"+a.RunID, "", ""); err != nil || a.status != http.StatusOK {
			return errors.Join(err, fmt.Errorf("%+v", a))
		}
	}
	return nil
}

// cutOff reads an event, leaves, and comes back for the others.
func (s *soak) cutOff(c *http.Client, n int) error {
	a, err := s.post(c, "agent", "?wait=0", "for (let i = 0; i < 3; i++) { console.log(i); await new Promise(r => setTimeout(r, 15)) }", intentOf(n), "", "-")
	if err != nil {
		return err
	}
	last, ended := 0, false
	read := func(most int) error {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/runs/"+a.RunID+"/events", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+s.tokens["agent"])
		req.Header.Set("Last-Event-ID", strconv.Itoa(last))
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() && most > 0 && !ended {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				if value != strconv.Itoa(last+1) {
					return fmt.Errorf("event %s after %d", value, last)
				}
				last++
			case "event":
				ended = value == "end"
			case "data":
				most--
			}
		}
		return nil
	}
	if err := read(1); err != nil {
		return err
	}
	for begun := time.Now(); !ended; {
		if err := read(1000); err != nil || time.Since(begun) > time.Minute {
			return errors.Join(err, errors.New("the events have no end"))
		}
	}
	return nil
}

func (s *soak) cancelled(c *http.Client, n int) error {
	a, err := s.post(c, "agent", "?wait=0", "for (;;) {}", intentOf(n), "", "-")
	if err != nil {
		return err
	}
	done, err := s.send(s.t.Context(), c, "agent", "POST", "/v1/runs/"+a.RunID+"/cancel", "", "")
	if err == nil && done.status != http.StatusOK {
		err = fmt.Errorf("%+v", done)
	}
	return err
}

// leaving gives up its request after some milliseconds.
func (s *soak) leaving(c *http.Client, n int) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(rand.IntN(30))*time.Millisecond)
	defer cancel()
	_, err := s.send(ctx, c, "agent", "POST", "/v1/runs", body("javascript", "await new Promise(r => setTimeout(r, 30)); return 1", intentOf(n)), "")
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *soak) twice(c *http.Client, n int) error {
	first, err := s.post(c, "agent", "?wait=5m", "return Math.random()", intentOf(n), intentOf(n), "")
	if err != nil {
		return err
	}
	second, err := s.post(c, "agent", "?wait=5m", "return Math.random()", intentOf(n), intentOf(n), "")
	if err == nil && first.RunID != second.RunID {
		err = fmt.Errorf("the runs %s and %s", first.RunID, second.RunID)
	}
	return err
}

func (s *soak) list(c *http.Client, _ int) error {
	a, err := s.send(s.t.Context(), c, "agent", "GET", "/v1/runs?limit=20&status=ok", "", "")
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%+v", a)
	}
	return err
}

// question asks a person, who answers, or cancels the run.
func (s *soak) question(c *http.Client, n int) error {
	a, err := s.post(c, "agent", "?wait=5m", "return await tools.p.ask()", intentOf(n), "", "-")
	if err != nil {
		return err
	}
	if a.Error.Code == "limit.time" { // before it asked
		return nil
	}
	if len(a.Waiting) != 1 {
		return fmt.Errorf("%+v does not wait", a)
	}
	path, text := "/v1/approvals/"+a.Waiting[0].ID, `{"decision":"`+[]string{"approve", "deny"}[n%2]+`"}`
	if n%5 == 0 {
		path, text = "/v1/runs/"+a.RunID+"/cancel", ""
	}
	answer, err := s.send(s.t.Context(), c, "person", "POST", path, text, "")
	if err == nil && answer.status != http.StatusOK {
		err = fmt.Errorf("%+v", answer)
	}
	return err
}

func (s *soak) bulky(c *http.Client, _ int) error {
	a, err := s.send(s.t.Context(), c, "agent", "POST", "/v1/runs", `{"language":"js","code":"`+s.bulk+`"}`, "")
	if err != nil { // the server may close the connection before it has all
		return nil
	}
	if a.Code != "usage.flag" && a.Code != "limit.busy" {
		return fmt.Errorf("%+v", a)
	}
	return nil
}

func (s *soak) wrong(c *http.Client, n int) error {
	a, err := s.send(s.t.Context(), c, "nobody", "POST", "/v1/runs", body("javascript", "1", intentOf(n)), "")
	if err == nil && a.Code != "denied.token" {
		err = fmt.Errorf("%+v", a)
	}
	return err
}

func (s *soak) over(c *http.Client, n int) error {
	a, err := s.send(s.t.Context(), c, "poor", "POST", "/v1/runs?wait=5m", body("javascript", "1", "poor"+intentOf(n)), "")
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.runs[a.RunID] = expected{"poor" + intentOf(n), a.Error.Code}
	case a.status != http.StatusTooManyRequests || a.Code != "limit.quota":
		return fmt.Errorf("%+v", a)
	}
	return nil
}

func (s *soak) agent(_ *http.Client, n int) error {
	res, err := s.clients[n%len(s.clients)].CallTool(s.t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
		"language": "javascript", "code": "return 40+2", "intent": intentOf(n)}})
	if err != nil || res.IsError {
		return errors.Join(err, fmt.Errorf("%+v", res))
	}
	return nil
}

// held is what the process holds.
type held struct {
	heap                    int64
	goroutines, descriptors int
}

func (h held) String() string {
	return fmt.Sprintf("heap %d MiB, %d goroutines, %d descriptors", h.heap>>20, h.goroutines, h.descriptors)
}

// measure returns what the process holds without clients.
func (s *soak) measure() (h held) {
	var m runtime.MemStats
	for range 20 { // connections close, finalizers run
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	open, _ := os.ReadDir("/proc/self/fd")
	return held{int64(m.HeapAlloc), runtime.NumGoroutine(), len(open)}
}

// account compares the store with what clients know.
func (s *soak) account(called int64) {
	t := s.t
	byIntent, failed, poor := map[string]string{}, int64(0), 0
	kept := map[string]store.Run{}
	for f := (store.Filter{Limit: 1000}); ; {
		runs, more, err := s.store.Runs(t.Context(), "default", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if other := byIntent[r.Intent]; other != "" {
				t.Errorf("%s is the runs %s and %s", r.Intent, other, r.ID)
			}
			byIntent[r.Intent], kept[r.ID] = r.ID, r
			if r.Code != "" {
				failed++
			}
			if strings.HasPrefix(r.Intent, "poor") {
				poor++
			}
			if r.State != store.StateDone {
				t.Errorf("%s is %s", r.ID, r.State)
			}
		}
		if !more {
			break
		}
		f.Before = runs[len(runs)-1].ID
	}
	for id, want := range s.runs {
		r, ok := kept[id]
		if !ok || r.Intent != want.intent || want.code != "-" && string(r.Code) != want.code {
			t.Errorf("%s was acknowledged as %+v, the store has %+v", id, want, r)
		}
	}
	sum := func(kind string) (count, bad int64) {
		sums, err := s.store.Usage(t.Context(), "default", kind, store.ByName, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range sums {
			if kind == "run" || u.Name == "p.ping" {
				count, bad = count+u.Count, bad+u.Failed
			}
		}
		return count, bad
	}
	runs, bad := sum("run")
	pings, cut := sum("tool")
	// a call that a limit cut may not have arrived
	if runs != int64(len(kept)) || bad != failed || called > pings || called < pings-cut {
		t.Errorf("usage counts %d runs, %d failed, %d calls; the store has %d and %d, the tool was called %d times", runs, bad, pings, len(kept), failed, called)
	}
	if s.all["over the quota"] >= soakQuota && poor != soakQuota && s.day == time.Now().UTC().YearDay() {
		t.Errorf("%d runs of a token that may start %d", poor, soakQuota)
	}
	report, err := s.store.Check(t.Context())
	if err != nil || len(report.Faults) != 0 || report.Rows["queue"] != 0 {
		t.Errorf("%+v %v", report, err)
	}
	waiting, _, err := s.store.Approvals(t.Context(), "default", store.ApprovalFilter{})
	if err != nil || len(waiting) != 0 {
		t.Errorf("%d questions wait: %v", len(waiting), err)
	}
	if n := s.server.bodies.Load(); n != 0 {
		t.Errorf("%d bytes of requests are counted", n)
	}
	s.server.keys.Range(func(key, _ any) bool { t.Errorf("the key %q is held", key); return true })
	t.Logf("%d runs acknowledged, %d in the store, each once, all ended; %d calls of tools, %d events, %d questions; queue empty, no lease, no fault",
		len(s.runs), len(kept), pings, report.Rows["events"], report.Rows["approvals"])
}
