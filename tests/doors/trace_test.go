//go:build linux

package doors

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/wexec/wexec/internal/telemetry"
)

// receiver is a receiver of OTLP over HTTP.
type receiver struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	raw   []byte
	spans []*otlp.Span
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		data, err := io.ReadAll(req.Body)
		var all otlp.TracesData // as ExportTraceServiceRequest, whose only field this is
		if err == nil {
			err = proto.Unmarshal(data, &all)
		}
		if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("X-Key") != "k 1" {
			t.Errorf("a request to %s with the key %q: %v", req.URL.Path, req.Header.Get("X-Key"), err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw = append(r.raw, data...)
		for _, resource := range all.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

// vars make a command send its spans here.
func (r *receiver) vars() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.url, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k%201"}
}

// one returns the span of a trace with a name.
func (r *receiver) one(trace, name string) *otlp.Span {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*otlp.Span
	var names []string
	for _, s := range r.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			names = append(names, s.Name)
			if s.Name == name {
				found = append(found, s)
			}
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("trace %s has %d spans %q; all: %q", trace, len(found), name, names)
	}
	return found[0]
}

// attribute is a value of a span as text.
func attribute(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if v := a.Value.GetStringValue(); v != "" {
				return v
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// witness is an MCP server over HTTP that notes which span each call comes from.
type witness struct {
	url string
	mu  sync.Mutex
	saw map[string][2]string // the spans in header and _meta, by tool and its argument
}

func newWitness(t *testing.T) *witness {
	w := &witness{saw: map[string][2]string{}}
	type args struct {
		Trace string `json:"trace"` // of the test
		Text  string `json:"text"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	for _, name := range []string{"look", "send"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, r *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
			meta, _ := r.Params.Meta[telemetry.Header].(string)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.saw[name+in.Trace] = [2]string{r.Extra.Header.Get(telemetry.Header), meta}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "got " + in.Text}}}, nil, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	w.url = web.URL
	return w
}

// Values that no span may have: kinds that are recognized and one that nothing
// recognizes.
var unseen = []string{"erika.mustermann@example.org", "4111 1111 1111 1111", "zaphod-beeblebrox", "Zaphod"}

// tracedProgram makes a call, one that a person has to approve, and one of a tool that
// does not exist. Its arguments, names, output and value are values.
const tracedProgram = `
const text = "erika.mustermann@example.org 4111 1111 1111 1111 zaphod-beeblebrox";
console.log(text);
await tools.up.look({trace: args.trace, text});
await tools.up.send({trace: args.trace, text});
try { await callTool("up.zaphod-beeblebrox", {}) } catch (e) { console.log(e.message) }
return text`

const failingProgram = `throw new Error("zaphod-beeblebrox erika.mustermann@example.org " + args.trace)`

func traceID(n int) string { return fmt.Sprintf("4bf92f3577b34da6a3ce929d0e0e%04x", n) }

const clientSpan = "00f067aa0ba902b7"

func header(trace string) string { return "00-" + trace + "-" + clientSpan + "-01" }

// whole checks the spans of a run of tracedProgram.
func (r *receiver) whole(w *witness, trace string) {
	r.t.Helper()
	run, guest := r.one(trace, telemetry.Run), r.one(trace, telemetry.Guest)
	look, send, approval := r.one(trace, "tools/call up.look"), r.one(trace, "tools/call up.send"), r.one(trace, telemetry.Approval)
	unknown := r.one(trace, "tools/call")
	for _, link := range []struct{ child, parent *otlp.Span }{{run, &otlp.Span{SpanId: must(hex.DecodeString(clientSpan))}}, {guest, run}, {look, guest}, {send, guest}, {unknown, guest}, {approval, send}} {
		if !bytes.Equal(link.child.ParentSpanId, link.parent.SpanId) {
			r.t.Errorf("%s: the parent of %s is %x, not %x", trace, link.child.Name, link.child.ParentSpanId, link.parent.SpanId)
		}
	}
	if run.Kind != otlp.Span_SPAN_KIND_SERVER || look.Kind != otlp.Span_SPAN_KIND_CLIENT {
		r.t.Errorf("kinds %v and %v", run.Kind, look.Kind)
	}
	for _, want := range []struct {
		span       *otlp.Span
		key, value string
	}{
		{run, "wexec.language", "javascript"}, {run, "wexec.status", "ok"}, {run, "wexec.tool_calls", "3"}, {look, "gen_ai.tool.name", "up.look"}, {look, "wexec.decision", "allow"},
		{send, "wexec.decision", "ask"}, {approval, "wexec.approval.answer", "yes"}, {unknown, "error.type", "tool.unknown"}, {unknown, "gen_ai.tool.name", ""},
	} {
		if got := attribute(want.span, want.key); got != want.value {
			r.t.Errorf("%s: %s of %s is %q, want %q", trace, want.key, want.span.Name, got, want.value)
		}
	}
	if attribute(run, "wexec.fuel") == "0" || run.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR {
		r.t.Errorf("%s: %v", trace, run)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for tool, span := range map[string]*otlp.Span{"look": look, "send": send} {
		want := fmt.Sprintf("00-%s-%x-01", trace, span.SpanId)
		if saw := w.saw[tool+trace]; saw != [2]string{want, want} {
			r.t.Errorf("the server saw %v in a call of %s, want %s", saw, tool, want)
		}
	}
}

// failed checks the spans of a run of failingProgram.
func (r *receiver) failed(trace string) {
	r.t.Helper()
	for _, name := range []string{telemetry.Run, telemetry.Guest} {
		span := r.one(trace, name)
		if span.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || span.Status.GetMessage() != "guest.exception" || attribute(span, "error.type") != "guest.exception" {
			r.t.Errorf("%s of a run that failed: %v", name, span)
		}
	}
}

// holdsNoValues checks that nothing received has a value.
func (r *receiver) holdsNoValues() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range unseen {
		if bytes.Contains(r.raw, []byte(value)) {
			r.t.Errorf("the receiver got %q", value)
		}
	}
	for _, s := range r.spans {
		if len(s.Events) > 0 || len(s.Attributes) > 12 {
			r.t.Errorf("%v", s)
		}
	}
}

const tracedPolicy = "version: 1\npii: {mode: tokenize, reveal_to: ['up.*']}\ntools: {allow: [up.look], ask: [up.send]}\n"

// One trace goes from the client through a server to the servers of tools. The last
// spans are sent when the server stops.
func TestATraceGoesThroughAServer(t *testing.T) {
	r, w, data := newReceiver(t), newWitness(t), t.TempDir()
	for name, text := range map[string]string{"mcp.json": fmt.Sprintf(`{"mcpServers": {"up": {"url": %q}}}`, w.url), "policy.yaml": tracedPolicy} {
		write(t, filepath.Join(data, "tenants", "default", name), text)
	}
	s := startServerWith(t, r.vars(), data)
	token := s.token()
	approved := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // a person who says yes
		defer close(approved)
		for ctx.Err() == nil {
			s.approve(ctx, token)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	overHTTP, failed, overMCP := traceID(1), traceID(2), traceID(3)
	post := func(trace, code string) {
		t.Helper()
		body := string(must(json.Marshal(map[string]any{"language": "js", "code": code, "intent": unseen[0], "args": map[string]any{"trace": trace, "text": unseen[0]}})))
		req := must(http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/runs?wait=5m", strings.NewReader(body)))
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Traceparent": {header(trace)}, "Tracestate": {"zaphod-beeblebrox=1"}}
		res := must(http.DefaultClient.Do(req))
		defer res.Body.Close()
		var run struct {
			RunID string `json:"run_id"`
		}
		if err := json.NewDecoder(res.Body).Decode(&run); err != nil || res.StatusCode >= 300 {
			t.Fatal(res.Status, err)
		}
		for range 1200 { // it waits for a person
			if now, err := s.ask(token, "GET", "/v1/runs/"+run.RunID, "", ""); err == nil && now.State == "done" {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the run of trace %s does not end: %s", trace, s.Says())
	}
	post(overHTTP, tracedProgram)
	post(failed, failingProgram)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: withToken(token)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, session, overMCP)
	_ = session.Close()
	cancel()
	<-approved
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Says())
	}
	r.whole(w, overHTTP)
	r.whole(w, overMCP)
	r.failed(failed)
	r.holdsNoValues()
}

// approve says yes to every question that waits.
func (s *server) approve(ctx context.Context, token string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/approvals", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	var page struct{ Approvals []struct{ ID string } }
	_ = json.NewDecoder(res.Body).Decode(&page)
	_ = res.Body.Close()
	for _, a := range page.Approvals {
		_, _ = s.ask(token, http.MethodPost, "/v1/approvals/"+a.ID, `{"decision":"approve"}`, "")
	}
}

// execute runs tracedProgram for a client of MCP.
func execute(t *testing.T, session *mcp.ClientSession, trace string) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Meta: mcp.Meta{telemetry.Header: header(trace)},
		Arguments: map[string]any{"language": "javascript", "code": tracedProgram, "intent": unseen[0], "args": map[string]any{"trace": trace}}})
	if err != nil {
		t.Fatal(err)
	}
	if data := must(json.Marshal(res.StructuredContent)); res.IsError || !strings.Contains(string(data), `"status":"ok"`) {
		t.Fatalf("%s", data)
	}
}

// The commands run and mcp are parts of a trace as well.
func TestATraceGoesThroughCommands(t *testing.T) {
	r, w := newReceiver(t), newWitness(t)
	dir, env := furnished(t, tracedPolicy)
	write(t, filepath.Join(dir, "mcp.json"), fmt.Sprintf(`{"mcpServers": {"up": {"url": %q}}}`, w.url))
	env = append(env, r.vars()...)
	cmd := command(t.Context(), dir, env, "mcp", "--mcp", "mcp.json", "--policy", "policy.yaml")
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		}})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	overStdio, failed := traceID(4), traceID(5)
	execute(t, session, overStdio)
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	run := command(t.Context(), dir, append(slices.Clone(env), "TRACEPARENT="+header(failed)), "run", "-l", "js", "-e", failingProgram, "--arg", "trace="+failed)
	if out, err := run.CombinedOutput(); err == nil || !strings.Contains(string(out), failed) {
		t.Errorf("%v: %s", err, out)
	}
	r.whole(w, overStdio)
	r.failed(failed)
	r.holdsNoValues()
}

// A receiver that is down, answers errors or never answers fails no run, and no run
// waits for it.
func TestAReceiverThatFailsFailsNoRun(t *testing.T) {
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	down := httptest.NewServer(nil)
	down.Close()
	t.Cleanup(func() { close(release); hangs.Close(); refuses.Close() })
	for _, url := range []string{hangs.URL, refuses.URL, down.URL, "ftp://nowhere", "http://"} {
		dir, env := furnished(t, "version: 1\n")
		cmd := command(t.Context(), dir, append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+url), "run", "-l", "js", "-e", "return 6*7")
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "42" {
			t.Errorf("%s: %v: %s", url, err, out)
		}
	}
	s := startServerWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + hangs.URL, "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2"}, t.TempDir())
	token := s.token()
	for range 30 { // more spans than the queue has places, while no request to the receiver ends
		if run, err := s.ask(token, "POST", "/v1/runs", `{"language":"js","code":"return 1"}`, ""); err != nil || run.Status != "ok" {
			t.Fatal(run, err)
		}
	}
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Says())
	}
}
