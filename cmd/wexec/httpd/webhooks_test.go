package httpd

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// told is an event that a receiver got.
type told struct {
	ID        string
	Number    int64
	Type      string
	Timestamp time.Time
	Tenant    string
	Link      string
	Data      shownApproval
	body      string
}

// receiver is a webhook that checks the events that it gets.
type receiver struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	got []told
}

// hookKey is what signs the requests to a receiver.
const hookKey = "a secret of more than 16 bytes"

// newReceiver starts a receiver. answer answers the nth request, from 0.
func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	r := &receiver{t: t}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var e told
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		e.body = string(body)
		r.check(req, e, err)
		r.mu.Lock()
		n := len(r.got)
		r.got = append(r.got, e)
		r.mu.Unlock()
		answer(n, w, req)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	r.url = web.URL
	return r
}

// check verifies the signature as the documentation describes it.
func (r *receiver) check(req *http.Request, e told, err error) {
	id, at := req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp")
	seconds, timeErr := strconv.ParseInt(at, 10, 64)
	mac := hmac.New(sha256.New, []byte(hookKey))
	mac.Write([]byte(id + "." + at + "." + e.body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	age := time.Since(time.Unix(seconds, 0)).Abs()
	for name := range req.Header {
		if !slices.Contains([]string{"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp"}, name) {
			r.t.Errorf("a header %s", name)
		}
	}
	if err != nil || timeErr != nil || req.URL.Path != "/hook" || req.Method != http.MethodPost || id != e.ID || age > 5*time.Minute ||
		!hmac.Equal([]byte(req.Header.Get("webhook-signature")), []byte(want)) {
		r.t.Errorf("%s %s with %v: %s %v", req.Method, req.URL, req.Header, e.body, err)
	}
}

func (r *receiver) all() []told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]told(nil), r.got...)
}

// settings are those of a tenant with the receiver.
func (r *receiver) settings() string {
	return "cache: " + testenv.Cache() + "\napprovals:\n  webhook: {url: '" + r.url + "/hook', secret: 'file:hook.key', link: 'https://wexec.example.com/'}\n"
}

func TestAWebhookLearnsWhatHappensToApprovals(t *testing.T) {
	hook := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {})
	server := mcp.NewServer(&mcp.Implementation{Name: "p", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "bob.miller@example.com"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "mail"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	a := newAPI(t, files{"tenants/default/mcp.json": serveMCP(t, server), "tenants/default/hook.key": hookKey + "\n", "tenants/default/wexec.yaml": hook.settings(),
		"tenants/default/policy.yaml": "version: 1\ntools: {allow: [p.who], ask: [p.mail]}\n"})
	const mail = `{"language":"js","code":"await tools.p.mail({to: await tools.p.who()})"}`
	first := a.asked(mail)
	a.call("admin", "POST", "/v1/approvals/"+first.Waiting[0].ID, `{"decision":"deny","reason":"later"}`).is(200)
	a.ended(first.RunID)
	second := a.asked(mail)
	a.call("agent", "POST", "/v1/runs/"+second.RunID+"/cancel", "").is(200)
	later(t, "everything is sent", func() bool { return len(hook.all()) >= 4 })
	want := []string{"1 approval.asked waiting", "2 approval.answered denied", "3 approval.asked waiting", "4 approval.expired expired"}
	for i, e := range hook.all() {
		if got := fmt.Sprint(e.Number, " ", e.Type, " ", e.Data.State); i >= len(want) || got != want[i] {
			t.Errorf("event %d is %s", i, got)
		}
		id := []shownRun{first, second}[i/2%2].Waiting[0].ID
		if e.Data.ID != id || e.Link != "https://wexec.example.com/approvals?id="+id || e.Tenant != "default" || e.Timestamp.IsZero() {
			t.Errorf("%+v", e)
		}
		if strings.Contains(e.body, "bob.miller") || !strings.Contains(e.body, "[EMAIL_1]") {
			t.Errorf("an event has a value, or no token: %s", e.body)
		}
		if asked := e.Type == "approval.asked"; asked == (e.Data.Answered != nil) || (e.Data.By == "ada") != (i == 1) {
			t.Errorf("%+v", e.Data)
		}
	}
}

func TestAnEventThatFailsIsSentAgainInOrder(t *testing.T) {
	stolen := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer stolen.Close()
	released := make(chan struct{})
	answers := []func(w http.ResponseWriter, r *http.Request){
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, stolen.URL, http.StatusTemporaryRedirect)
		},
		func(w http.ResponseWriter, _ *http.Request) { // an endless answer with a success
			for _, err := w.Write(make([]byte, 8<<10)); err == nil; _, err = w.Write(make([]byte, 8<<10)) {
			}
		},
	}
	if !testing.Short() {
		answers = append(answers[:2], func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}, answers[2])
	}
	defer close(released)
	var mu sync.Mutex
	var at []time.Time
	hook := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		if n < len(answers) {
			answers[n](w, r)
		}
	})
	servers, _ := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/hook.key": hookKey, "tenants/default/wexec.yaml": hook.settings(),
		"tenants/default/policy.yaml": "version: 1\ntools:\n  ask: [p.ping]\n"})
	run := a.asked(ping)
	a.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve"}`).is(200)
	later(t, "both events are sent", func() bool { return len(hook.all()) > len(answers) })
	all := hook.all()
	for i, e := range all[:len(answers)] {
		if e.ID != all[0].ID || e.Number != 1 {
			t.Errorf("attempt %d is %s, number %d", i, e.ID, e.Number)
		}
	}
	if last := all[len(answers)]; last.Number != 2 || last.ID == all[0].ID || last.Type != "approval.answered" {
		t.Errorf("%+v", last)
	}
	mu.Lock()
	defer mu.Unlock()
	if pause := at[1].Sub(at[0]); pause < 2500*time.Millisecond {
		t.Errorf("Retry-After: 3 is not honored: sent again after %s", pause)
	}
}

// later is until for what takes longer than half a minute.
func later(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after 5 minutes: %s", what)
		}
	}
}

func TestOneOfTwoServersSendsAnEvent(t *testing.T) {
	hook := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {})
	servers, _ := anyPinger(t)
	tenant := files{"tenants/default/mcp.json": servers, "tenants/default/hook.key": hookKey, "tenants/default/wexec.yaml": hook.settings(),
		"tenants/default/policy.yaml": "version: 1\ntools:\n  ask: [p.ping]\n"}
	a := newAPI(t, tenant)
	b := a.second(tenant)
	const runs = 4
	for i := range runs {
		on := []*api{a, b}[i%2]
		run := on.asked(pingWith(fmt.Sprintf("{n: %d}", i)))
		on.call("admin", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve"}`).is(200)
		on.ended(run.RunID)
	}
	later(t, "all events are sent", func() bool { return len(hook.all()) >= 2*runs })
	for i, e := range hook.all() {
		if e.Number != int64(i+1) {
			t.Errorf("event %d is number %d", i, e.Number)
		}
	}
}

// A tenant decides about its webhook as far as the operator lets it.
func TestTheSettingsOfAWebhookAreChecked(t *testing.T) {
	a := newAPI(t, nil)
	for _, c := range []struct{ tenant, settings, operator, want string }{
		{"default", "{url: 'https://a.example/', secret: 'file:hook.key'}", "", ""},
		{"default", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "", ""},
		{"default", "{url: 'https://a.example/', secret: 'file:absent'}", "", "secret"},
		{"default", "{url: 'https://a.example/', secret: 'hunter2hunter2hunter2'}", "", "env:NAME or file:PATH"},
		{"default", "{url: 'ftp://a.example/hunter2', secret: 'file:hook.key'}", "", "tenant default: approvals.webhook: url"},
		{"default", "{secret: 'file:hook.key'}", "", "url must be"},
		{"default", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "{default: {stdio: true}}", "must be https"},
		{"other", "{url: 'https://a.example/', secret: 'file:hook.key'}", "", ""},
		{"other", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "", "must be https"},
		{"other", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "{default: {private_hosts: ['127.0.0.1:3000']}}", "must be https"},
		{"other", "{url: 'http://127.0.0.1:6379/', secret: 'file:hook.key'}", "{other: {private_hosts: ['127.0.0.1:3000']}}", "must be https"},
		{"other", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "{other: {private_hosts: ['127.0.0.1:3000']}}", ""},
		{"other", "{url: 'http://127.0.0.1:3000/', secret: 'file:hook.key'}", "{other: {private_hosts: [127.0.0.1]}}", "must be HOST:PORT"},
		{"other", "{url: 'https://a.example/', secret: 'file:../default/hook.key'}", "", "escapes"},
		{"other", "{url: 'https://a.example/', secret: 'env:PATH'}", "", "not set"},
	} {
		settings := files{"wexec.yaml": "", "tenants/default/hook.key": hookKey, "tenants/other/hook.key": hookKey, "tenants/default/wexec.yaml": "", "tenants/other/wexec.yaml": ""}
		if c.operator != "" {
			settings["wexec.yaml"] = "tenants: " + c.operator + "\n"
		}
		settings["tenants/"+c.tenant+"/wexec.yaml"] = "approvals: {webhook: " + c.settings + "}\n"
		settings["tenants/default/wexec.yaml"] += "cache: " + testenv.Cache() + "\n"
		if strings.HasPrefix(c.operator, "{default") { // a listed tenant sets no cache
			settings["tenants/default/wexec.yaml"] = strings.ReplaceAll(settings["tenants/default/wexec.yaml"], "cache: "+testenv.Cache()+"\n", "")
		}
		settings.write(t, a.data)
		err := a.service.Reload(t.Context())
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
