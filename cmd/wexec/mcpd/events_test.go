package mcpd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
)

// wire is an HTTP client without the library: it sees events and cuts
// connections.
type wire struct {
	address, session string
}

// request sends a message, or without one asks for the events after last.
func (w *wire) request(ctx context.Context, t *testing.T, message, last string) *http.Response {
	t.Helper()
	method := http.MethodPost
	if message == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, w.address, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + testToken, "Mcp-Session-Id": w.session, "Mcp-Protocol-Version": "2025-06-18", "Last-Event-ID": last} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// message is one message with the id of its event.
type message struct {
	Event  string
	ID     int `json:"id"`
	Params struct {
		Meta     map[string]string `json:"_meta"`
		Progress float64           `json:"progress"`
		Total    float64           `json:"total"`
	} `json:"params"`
	Result struct {
		Structured engine.Result `json:"structuredContent"`
	} `json:"result"`
}

// until reads events until one is what is looked for.
func until(t *testing.T, res *http.Response, found func(message) bool) message {
	t.Helper()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	event := ""
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			event = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		m := message{Event: event}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if found(m) {
			return m
		}
	}
	t.Fatalf("the stream of status %d ended: %v", res.StatusCode, lines.Err())
	return message{}
}

func TestARunSurvivesACutConnection(t *testing.T) {
	shop := &shop{}
	s := newServer(t, openPolicy, nil, shop.providers()...)
	w := &wire{address: serve(t, s, HTTPOptions{})}
	opened := w.request(t.Context(), t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "")
	w.session = opened.Header.Get("Mcp-Session-Id")
	w.request(t.Context(), t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")

	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","_meta":{"progressToken":"p"},"arguments":{"language":"javascript","code":"await tools.shop.slow_meet({of: 2}); return 'after'"}}}`
	ctx, cut := context.WithCancel(t.Context())
	stream := w.request(ctx, t, call, "")
	seen := until(t, stream, func(m message) bool { return m.Params.Meta["run_id"] != "" })
	run := onlyRun(t, s)
	cut()
	for !run.isCut() {
		select {
		case <-run.done:
			t.Fatal("the run ended with its connection")
		default:
		}
	}
	shop.started.Add(1) // the tool answers

	rest := until(t, w.request(t.Context(), t, "", seen.Event), func(m message) bool { return m.ID == 2 })
	if got := string(rest.Result.Structured.Value); got != `"after"` {
		t.Errorf("the resumed stream answered %s", got)
	}
	wait := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait_run","arguments":{"run_id":%q}}}`, seen.Params.Meta["run_id"])
	waited := until(t, w.request(t.Context(), t, wait, ""), func(m message) bool { return m.ID == 3 })
	if got := string(waited.Result.Structured.Value); got != `"after"` {
		t.Errorf("wait_run answered %s", got)
	}
	if s.runs.pending() {
		t.Error("the fetched run is kept")
	}
}

// A stranger who knows or guesses the id of an event gets no event of another session.
func TestAForgedEventIDGivesNothing(t *testing.T) {
	s := newServer(t, openPolicy, nil)
	address := serve(t, s, HTTPOptions{})
	open := func() *wire {
		w := &wire{address: address}
		opened := w.request(t.Context(), t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "")
		w.session = opened.Header.Get("Mcp-Session-Id")
		w.request(t.Context(), t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
		return w
	}
	victim, attacker := open(), open()
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"language":"javascript","code":"return 'of the victim'"}}}`
	id := until(t, victim.request(t.Context(), t, call, ""), func(m message) bool { return m.ID == 2 }).Event
	stream, _, ok := strings.Cut(id, "_")
	if !ok {
		t.Fatalf("the event has the id %q", id)
	}
	gone := *attacker
	gone.session = "a-session-that-is-not-there"
	for name, c := range map[string]struct {
		from *wire
		last string
	}{
		"of another session":       {attacker, id},
		"of its start":             {attacker, stream + "_-1"},
		"negative":                 {attacker, stream + "_-9223372036854775808"},
		"large":                    {attacker, stream + "_9223372036854775807"},
		"an overflow":              {attacker, stream + "_99999999999999999999999"},
		"no number":                {attacker, stream + "_x"},
		"a path":                   {attacker, victim.session + "/" + id},
		"long":                     {attacker, strings.Repeat("x", 8<<10) + "_0"},
		"longer than any header":   {attacker, strings.Repeat("x", 1<<20)},
		"of a session that is not": {&gone, id},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a stream without events stays open
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{"Accept": "text/event-stream", "Authorization": "Bearer " + testToken, "Mcp-Session-Id": c.from.session,
			"Mcp-Protocol-Version": "2025-06-18", "Last-Event-ID": c.last} {
			r.Header.Set(key, value)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err == nil {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
			_ = res.Body.Close()
			if strings.Contains(string(body), "victim") || strings.Contains(string(body), victim.session) || res.StatusCode >= 500 {
				t.Errorf("%s: status %d, %.300s", name, res.StatusCode, body)
			}
		}
		cancel()
	}
	again := until(t, victim.request(t.Context(), t, strings.Replace(call, `"id":2`, `"id":3`, 1), ""), func(m message) bool { return m.ID == 3 })
	if string(again.Result.Structured.Value) != `"of the victim"` {
		t.Errorf("afterwards: %+v", again)
	}
}

func TestRunsWithACutConnectionAreBounded(t *testing.T) {
	var rs runs
	for i := range maxCut {
		if !rs.detach(rs.start("o", "", executeParams{})) {
			t.Fatalf("run %d ends with its connection", i)
		}
	}
	if rs.detach(rs.start("o", "", executeParams{})) {
		t.Errorf("more than %d runs go on", maxCut)
	}
	rs.cancelAll()
	large := executeParams{Code: strings.Repeat("x", maxCutCode/2+1)}
	if !rs.detach(rs.start("o", "", large)) || rs.detach(rs.start("o", "", large)) {
		t.Error("the programs are not bounded")
	}
	rs.cancelAll()
}

func TestKeptEventsAreBounded(t *testing.T) {
	var es events
	ctx, data := t.Context(), make([]byte, 1<<20)
	after := func(stream string, index int) (n int, err error) {
		for _, e := range es.After(ctx, "s", stream, index) {
			if e != nil {
				return n, e
			}
			n++
		}
		return n, nil
	}
	for i := range 100 {
		if err := errors.Join(es.Open(ctx, "s", fmt.Sprint(i)), es.Append(ctx, "s", fmt.Sprint(i), data)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := after("99", -1); n != 1 || err != nil {
		t.Errorf("the last stream has %d events: %v", n, err)
	}
	if _, err := after("0", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("the first stream: %v", err)
	}
	for range 20 { // in one stream
		if err := es.Append(ctx, "s", "one", data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := after("one", 0); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("the first events of a long stream: %v", err)
	}
	if n, err := after("one", 18); n != 1 || err != nil {
		t.Errorf("its last event: %d, %v", n, err)
	}
	for i := range 1_000_000 {
		if err := es.Append(ctx, "s", fmt.Sprint("empty ", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(es.streams); n > maxEvents/eventShare || es.size > maxEvents {
		t.Errorf("%d streams in %d bytes are kept", n, es.size)
	}
	if err := es.SessionClosed(ctx, "s"); err != nil || es.size != 0 || es.order.Len() != 0 {
		t.Errorf("%d bytes of a closed session: %v", es.size, err)
	}
}

func TestProgressOnlyIncreases(t *testing.T) {
	one := func(done, total float64) engine.Event {
		return engine.Event{Type: engine.EventProgress, Done: done, Total: total}
	}
	call := engine.Event{Type: engine.EventCall}
	var p progress
	var got [][2]float64
	for _, e := range []engine.Event{call, one(1, 10), one(5, 10), call, one(6, 10), one(1, 3), one(3, 3), one(-9, 3), one(2, 0)} {
		at, total := p.next(e)
		got = append(got, [2]float64{at, total})
	}
	want := [][2]float64{{1, 0}, {2, 11}, {6, 11}, {7, 12}, {8, 12}, {9, 11}, {11, 11}, {11, 14}, {12, 15}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
