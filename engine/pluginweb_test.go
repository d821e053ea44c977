package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/policy"
)

// pluginWeb is a web server and the table of plugins that may reach it.
type pluginWeb struct {
	*httptest.Server
	sink  *audit.Memory
	table *hostfns.Table
}

func newPluginWeb(t *testing.T, rules string) *pluginWeb {
	t.Helper()
	w := &pluginWeb{sink: &audit.Memory{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			out.Header().Add("X-Twice", "a")
			out.Header().Add("X-Twice", "b")
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(out, "%s %s %s %s", r.Method, r.Header.Get("X-Given"), body, r.Header.Get("Authorization"))
		case "/plain":
			out.WriteHeader(http.StatusNoContent)
		case "/away":
			http.Redirect(out, r, "http://elsewhere.example/", http.StatusFound)
		case "/person":
			fmt.Fprint(out, `{"mail":"ada@acme-corp.io"}`)
		case "/hang":
			<-r.Context().Done()
		case "/endless":
			part := make([]byte, 1<<20)
			for r.Context().Err() == nil {
				if _, err := out.Write(part); err != nil {
					return
				}
			}
		case "/inside":
			http.Redirect(out, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/port":
			http.Redirect(out, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		case "/file":
			out.Header().Set("Location", "file:///etc/passwd")
			out.WriteHeader(http.StatusFound)
		case "/loop":
			http.Redirect(out, r, "/loop", http.StatusFound)
		case "/heads":
			for i := range 2000 {
				out.Header().Set(fmt.Sprint("X-H-", i), strings.Repeat("h", 4000))
			}
		case "/slow":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(out, "x"); err != nil {
					return
				}
				out.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(w.Close)
	t.Cleanup(w.CloseClientConnections)
	u, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := policy.Parse("policy.yaml", []byte("version: 1\n"+strings.ReplaceAll(rules, "PORT", u.Port())))
	if err != nil {
		t.Fatal(err)
	}
	w.table, err = hostfns.NewTable(parsed, w.sink, fetch.New(fetch.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	w.table = w.table.With(hostfns.Options{Secrets: func(context.Context, string) (string, error) { return "s3cret-value", nil }})
	t.Cleanup(func() { _ = w.table.Close() })
	return w
}

func (w *pluginWeb) call(t *testing.T, e *Engine, function, method, path string, change ...func(*Request)) (*Result, error) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"method": method, "url": w.URL + path, "headers": map[string]string{"x-given": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	change = append(change, func(r *Request) { r.Plugin, r.Table = filepath.Join("testdata", "plugin", "web.wasm"), w.table })
	return plugin(t, e, function, string(in), change...)
}

const reachable = "pii: {mode: off}\nnetwork: {allow: [{host: 127.0.0.1, ports: [PORT], methods: [GET, POST]}]}\n"

func TestAPluginMakesHTTPRequests(t *testing.T) {
	e, w := newTiny(t, Config{}), newPluginWeb(t, reachable)
	res, err := w.call(t, e, "get", "get", "/echo")
	wantValue(t, res, err, `"GET yes  "`)
	if len(res.Calls) != 1 || res.Calls[0].Tool != "wexec:fetch" || !res.Calls[0].OK || res.Usage.ToolCalls != 1 {
		t.Errorf("%+v", res.Calls)
	}
	res, err = w.call(t, e, "get", "", "/echo")
	wantValue(t, res, err, `"GET yes  "`)
	res, err = w.call(t, e, "post", "POST", "/echo")
	wantValue(t, res, err, `"POST yes ping "`)
	res, err = w.call(t, e, "headers", "GET", "/echo")
	if err != nil || !strings.Contains(string(res.Value), `"x-twice":"a,b"`) {
		t.Errorf("%s %v", res.Value, err)
	}
	if res, err = w.call(t, e, "get", "GET", "/plain"); err != nil || len(res.Output()) != 0 {
		t.Errorf("a response without a body: %q %v", res.Output(), err)
	}
	_, err = w.call(t, e, "status", "GET", "/none") // the request succeeded
	wantCode(t, err, fault.GuestException)
	if !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	if _, err = w.call(t, e, "before", "GET", "/echo"); err != nil {
		t.Error(err)
	}
	wantLedger(t, e, 0)
}

// The policy decides each request and redirect of a plugin, as those of programs.
func TestAPluginsRequestsPassTheGate(t *testing.T) {
	e := newTiny(t, Config{})
	w := newPluginWeb(t, "pii: {mode: off}\n")
	_, err := w.call(t, e, "get", "GET", "/echo")
	wantCode(t, err, fault.DeniedNetwork)
	if !strings.Contains(err.Error(), "GET 127.0.0.1 is not allowed: no rule allows") || !strings.Contains(fault.HintOf(err), "under network") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	denied := false
	for _, ev := range w.sink.Events() {
		denied = denied || ev.Decision != nil && ev.Decision.Kind == "network" && ev.Decision.Effect == "deny"
	}
	if !denied {
		t.Error("the audit does not have the denial")
	}
	w = newPluginWeb(t, reachable)
	_, err = w.call(t, e, "get", "PUT", "/echo")
	wantCode(t, err, fault.DeniedNetwork)
	_, err = w.call(t, e, "get", "GET", "/away")
	wantCode(t, err, fault.DeniedNetwork)
	if !strings.Contains(err.Error(), "elsewhere.example") {
		t.Error(err)
	}
	_, err = w.call(t, e, "get", "GET", "", func(r *Request) { r.Input = []byte(`{"url":"file:///etc/passwd"}`) })
	wantCode(t, err, fault.DeniedNetwork)
	for _, in := range []string{"", "x", `{"url":7}`, `{"url":"http://h/","headers":{"a":1}}`} {
		_, err = w.call(t, e, "get", "GET", "", func(r *Request) { r.Input = []byte(in) })
		wantCode(t, err, fault.GuestException)
	}
	for _, function := range []string{"large", "larger"} {
		_, err = w.call(t, e, function, "POST", "/echo")
		wantCode(t, err, fault.GuestException)
		if !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", function, err)
		}
	}
}

func TestAPluginsRequestsAreWithinItsLimits(t *testing.T) {
	e, w := newTiny(t, Config{}), newPluginWeb(t, reachable)
	_, err := w.call(t, e, "get", "GET", "/endless", limited(Limits{Memory: 16 << 20}))
	wantCode(t, err, fault.LimitMemory)
	_, err = w.call(t, e, "get", "GET", "/endless", limited(Limits{HostBytes: 4 << 20}))
	wantCode(t, err, fault.LimitHostBytes)
	_, err = w.call(t, e, "get", "GET", "/hang", limited(Limits{Time: 200 * time.Millisecond}))
	wantCode(t, err, fault.LimitTime)
	_, err = w.call(t, e, "twice", "GET", "/echo", limited(Limits{ToolCalls: 1}))
	wantCode(t, err, fault.LimitToolCalls)
	wantLedger(t, e, 0)
}

// A web server that redirects to what the policy does not allow, answers without end,
// or with headers larger than any, gives the plugin nothing.
func TestAHostileWebServerGivesAPluginNothing(t *testing.T) {
	e, w := newTiny(t, Config{}), newPluginWeb(t, reachable)
	for _, path := range []string{"/inside", "/port", "/file"} {
		for _, function := range []string{"get", "headers"} {
			res, err := w.call(t, e, function, "GET", path)
			wantCode(t, err, fault.DeniedNetwork)
			if len(res.Output()) > 0 {
				t.Errorf("%s gave %q", path, res.Output())
			}
		}
	}
	for _, path := range []string{"/loop", "/heads"} {
		if res, err := w.call(t, e, "headers", "GET", path); err == nil {
			t.Errorf("%s gave %d bytes", path, len(res.Output()))
		}
	}
	_, err := w.call(t, e, "get", "GET", "/slow", limited(Limits{Time: 2 * time.Second}))
	wantCode(t, err, fault.LimitTime)
	// A rule for all hosts does not allow private addresses, in any spelling.
	inner := newPluginWeb(t, "pii: {mode: off}\nnetwork: {allow: [{host: \"*\", ports: [PORT]}]}\n")
	port := inner.URL[strings.LastIndex(inner.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1"} {
		res, err := inner.call(t, e, "get", "GET", "", func(r *Request) { r.Input = []byte(`{"url":"http://` + host + port + `/echo"}`) })
		if err == nil {
			t.Errorf("%s gave %q", host, res.Output())
		}
	}
	wantLedger(t, e, 0)
}

// A plugin sees neither the secret that its request carries nor personal data.
func TestAPluginsResponsesHaveNoValues(t *testing.T) {
	e := newTiny(t, Config{})
	w := newPluginWeb(t, reachable+`secrets: [{name: KEY, from: "env:KEY", to: ["host:127.0.0.1"], as: "header:Authorization: Bearer {}"}]`+"\n")
	res, err := w.call(t, e, "get", "GET", "/echo")
	wantValue(t, res, err, `"GET yes  Bearer [secret KEY]"`)
	w = newPluginWeb(t, strings.Replace(reachable, "off", "tokenize", 1))
	res, err = w.call(t, e, "get", "GET", "/person")
	if err != nil || strings.Contains(string(res.Value), "ada@") {
		t.Errorf("%s %v", res.Value, err)
	}
}

func TestAPluginsRequestsAreReplayed(t *testing.T) {
	e := newTiny(t, Config{})
	w := newPluginWeb(t, reachable+"audit: {code: full, inputs: full, outputs: full}\n")
	first, err := w.call(t, e, "post", "POST", "/echo")
	wantValue(t, first, err, `"POST yes ping "`)
	rec, err := w.sink.Recording(first.RunID)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	again, err := e.Replay(t.Context(), rec)
	wantValue(t, again, err, `"POST yes ping "`)
	if again.Usage.Fuel != first.Usage.Fuel {
		t.Errorf("fuel %d and %d", first.Usage.Fuel, again.Usage.Fuel)
	}
}
