package httpd

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// visit requests a page with a token in the cookie, without following redirects.
func (a *api) visit(token, method, path string, form url.Values) (*http.Response, string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		req.AddCookie(&http.Cookie{Name: "wexec", Value: a.tokens[token]})
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return res, string(body)
}

// sent returns how many bytes an answer has as browsers get it, and its text.
func (a *api) sent(token, path string) (int, string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), "GET", a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	req.AddCookie(&http.Cookie{Name: "wexec", Value: a.tokens[token]})
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		a.t.Fatal(path, res.StatusCode, err)
	}
	if res.Header.Get("Content-Encoding") != "gzip" {
		return len(data), string(data)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		a.t.Fatal(err)
	}
	return len(data), string(text)
}

// assetsOf returns the assets of pages.
func assetsOf(t *testing.T, a *api) []string {
	t.Helper()
	_, body := a.visit("reader", "GET", "/tools", nil)
	all := regexp.MustCompile(`/assets/[^"]+`).FindAllString(body, -1)
	if len(all) < 2 {
		t.Fatal("a page has no assets")
	}
	return all
}

// done runs a program to its end and returns its id.
func (a *api) done(program service.Program) string {
	a.t.Helper()
	who, err := a.service.Authenticate(a.t.Context(), a.tokens["admin"])
	if err != nil {
		a.t.Fatal(err)
	}
	run, err := a.service.Submit(a.t.Context(), who, service.Submission{Program: program, Trigger: "api"}, time.Minute)
	if err != nil || run.State != store.StateDone {
		a.t.Fatal(run, err)
	}
	return run.RunID
}

// pagePaths are the pages that everybody who may read sees.
var pagePaths = []string{"/", "/runs", "/approvals", "/tools", "/sessions", "/usage"}

func TestAPersonSignsInToThePages(t *testing.T) {
	a := newAPI(t, nil)
	for _, path := range append([]string{"/audit", "/runs/x", "/live", "/live/x"}, pagePaths...) {
		if res, body := a.visit("", "GET", path, nil); res.StatusCode != 401 || !strings.Contains(body, `action="/signin"`) || strings.Contains(body, "Sign out") {
			t.Errorf("%s without a token: %d", path, res.StatusCode)
		}
	}
	if res, body := a.visit("", "POST", "/signin", url.Values{"token": {"wx_wrong"}}); res.StatusCode != 401 || res.Header.Get("Set-Cookie") != "" || !strings.Contains(body, "role=\"alert\"") {
		t.Error(res.StatusCode, res.Header)
	}
	res, _ := a.visit("", "POST", "/signin", url.Values{"token": {a.tokens["admin"]}, "next": {"/runs?status=ok"}})
	cookie := res.Header.Get("Set-Cookie")
	if res.StatusCode != 303 || res.Header.Get("Location") != "/runs?status=ok" || cookie != "wexec="+a.tokens["admin"]+"; Path=/; HttpOnly; SameSite=Strict" {
		t.Error(res.StatusCode, res.Header.Get("Location"), cookie)
	}
	for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", "", "/\t/evil.example"} {
		res, _ := a.visit("", "POST", "/signin", url.Values{"token": {a.tokens["admin"]}, "next": {next}})
		if res.Header.Get("Location") != "/" {
			t.Errorf("after signing in, %q leads to %q", next, res.Header.Get("Location"))
		}
	}
	if res, _ := a.visit("admin", "POST", "/signout", url.Values{}); res.StatusCode != 303 || !strings.Contains(res.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Error(res.StatusCode, res.Header)
	}
	// Over TLS the cookie belongs to this host and to TLS.
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/signin", strings.NewReader("token="+a.tokens["admin"]))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.TLS = &tls.ConnectionState{}
	w := httptest.NewRecorder()
	a.server.ServeHTTP(w, r)
	if cookie := w.Header().Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-wexec=") || !strings.Contains(cookie, "; Secure;") {
		t.Error(w.Code, cookie)
	}
}

func TestAPageOfAnotherSiteDoesNothing(t *testing.T) {
	a := newAPI(t, nil)
	for _, path := range []string{"/signin", "/signout", "/approvals/x", "/runs/x/cancel", "/runs/x/again"} {
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", a.url+path, strings.NewReader("token="+a.tokens["admin"]))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set(name, value)
			req.AddCookie(&http.Cookie{Name: "wexec", Value: a.tokens["admin"]})
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != 403 || res.Header.Get("Set-Cookie") != "" {
				t.Errorf("POST %s with %s: %d", path, name, res.StatusCode)
			}
		}
	}
}

// inline finds what is forbidden in a page: scripts and styles in it, and addresses of
// other hosts.
var inline = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<]|[^>]*src="[^/])|<style|\son[a-z]+\s*=\s*["']|\sstyle\s*=\s*["']|(?:src|href|action)="(?:https?:|//|javascript:|data:)`)

func TestPagesLetNothingRun(t *testing.T) {
	a := newAPI(t, nil)
	attack := `</code></pre><script>alert(1)</script><img src=x onerror=alert(1)>"'><svg onload=alert(1)>{{.}}` + "\u202egnp.exe\u0007\u200b\u2028"
	id := a.done(service.Program{Language: "javascript", Intent: attack, File: "a.js",
		Code: "// " + attack + "\nconsole.log(args.a); console.error(args.a);\n({ [args.a]: args.a, list: [args.a, 1, true, null] })", Args: inJSON(t, map[string]string{"a": attack})})
	failed := a.done(service.Program{Language: "javascript", Code: "//\nconst e = new Error(" + string(inJSON(t, attack)) + "); e.name = e.message; throw e"})
	for _, path := range append([]string{"/audit", "/audit?verify=1", "/runs/" + id, "/runs/" + failed, "/runs?q=" + url.QueryEscape(attack), "/usage?by=actor", "/runs/nothing", "/tools?q=" + url.QueryEscape(attack)}, pagePaths...) {
		res, body := a.visit("admin", "GET", path, nil)
		if csp := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if kind := res.Header.Get("Content-Type"); kind != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %s", path, res.StatusCode, kind)
		}
		if found := inline.FindString(body); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if strings.ContainsAny(body, "\u202e\u0007\u200b\u2028") && !strings.Contains(path, "q=") { // a form gives a person's own words back
			t.Errorf("%s has invisible characters", path)
		}
	}
	_, body := a.visit("admin", "GET", "/runs/"+id, nil)
	for _, want := range []string{`\u{202e}gnp.exe\u{7}\u{200b}\u{2028}`, "&lt;script&gt;alert(1)", "stderr"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of a run does not have %s", want)
		}
	}
	if _, body := a.visit("admin", "GET", "/runs/"+failed, nil); !strings.Contains(body, `class="failed" value="2"`) {
		t.Error("the page does not mark the line that failed")
	}
	if res, body := a.visit("admin", "GET", "/runs/"+id+"/value", nil); res.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") || !strings.Contains(body, "list") {
		t.Error(res.Header)
	}
}

func TestPagesOfLargeRunsAreSmall(t *testing.T) {
	a := newAPI(t, nil)
	code := "console.log('x'.repeat(400000));\n" + strings.Repeat("// a line of the program\n", 5000) + "const deep = n => n ? [deep(n - 1)] : 1;\n({ long: 'y'.repeat(300000), many: Array.from({length: 5000}, (_, i) => i), deep: deep(100) })"
	id := a.done(service.Program{Language: "javascript", Code: code})
	_, body := a.visit("admin", "GET", "/runs/"+id, nil)
	if len(body) > 200_000 || !strings.Contains(body, "the download has the rest") || !strings.Contains(body, "of 5003") {
		t.Error(len(body))
	}
	total := 0
	for _, asset := range regexp.MustCompile(`/assets/[^"]+`).FindAllString(body, -1) {
		res, text := a.visit("", "GET", asset, nil)
		if total += len(text); res.StatusCode != 200 || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Error(asset, res.StatusCode, res.Header)
		}
	}
	if total == 0 || total > 60_000 {
		t.Errorf("the assets have %d bytes", total)
	}
}

func TestAPageShowsWhatItsTokenMay(t *testing.T) {
	a := newAPI(t, nil)
	id := a.done(service.Program{Language: "javascript", Intent: "secret purpose", Code: "42"})
	for _, path := range append([]string{"/runs/" + id, "/runs/" + id + "/value", "/live/" + id, "/runs/" + id + "/code"}, pagePaths...) {
		res, body := a.visit("other", "GET", path, nil)
		if strings.Contains(body, "secret purpose") || strings.Contains(path, id) && res.StatusCode != 404 {
			t.Errorf("another tenant gets %d for %s", res.StatusCode, path)
		}
	}
	for _, try := range []struct {
		who, method, path string
		status            int
	}{
		{"other", "POST", "/runs/" + id + "/again", 404}, {"other", "POST", "/runs/" + id + "/cancel", 404},
		{"reader", "POST", "/runs/" + id + "/again", 403}, {"reader", "POST", "/runs/" + id + "/cancel", 403}, {"reader", "GET", "/audit", 403},
		{"reader", "POST", "/approvals/x", 403}, {"agent", "POST", "/runs/" + id + "/again", 303}, {"reader", "GET", "/runs/" + id, 200},
	} {
		var form url.Values
		if try.method == "POST" {
			form = url.Values{"decision": {"approve"}}
		}
		if res, _ := a.visit(try.who, try.method, try.path, form); res.StatusCode != try.status {
			t.Errorf("%s %s of %s: %d", try.method, try.path, try.who, res.StatusCode)
		}
	}
	if _, body := a.visit("reader", "GET", "/runs/"+id, nil); strings.Contains(body, "Run again") {
		t.Error("the page offers what the token does not allow")
	}
}

// TestAStreamTellsAPageOfNews follows the stream of a page and that of a run.
func TestAStreamTellsAPageOfNews(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"await new Promise(r => setTimeout(r, 60000))"}`).is(202, &run)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	follow := func(path string) <-chan string {
		req, _ := http.NewRequestWithContext(ctx, "GET", a.url+path, nil)
		req.AddCookie(&http.Cookie{Name: "wexec", Value: a.tokens["reader"]})
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(res, err)
		}
		text := make(chan string, 1)
		go func() {
			defer res.Body.Close()
			all, b := "", make([]byte, 4096)
			for {
				n, err := res.Body.Read(b)
				all += string(b[:n])
				if err != nil || strings.Contains(path, "/live/") && strings.Contains(all, "event: end") || path == "/live" && strings.Contains(all, "event: change") {
					text <- all
					return
				}
			}
		}()
		return text
	}
	ofRun, ofAll := follow("/live/"+run.RunID), follow("/live")
	a.visit("agent", "POST", "/runs/"+run.RunID+"/cancel", url.Values{})
	if text := <-ofRun; !strings.Contains(text, "event: end") {
		t.Errorf("%q", text)
	}
	if text := <-ofAll; !strings.Contains(text, "event: change") {
		t.Errorf("%q", text)
	}
}

// inJSON is a value as JSON.
func inJSON(t *testing.T, value any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAPersonAnswersOnAPage(t *testing.T) {
	servers, called := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": alwaysPolicy})
	attack := "<img src=x onerror=alert(1)>\u202e"
	run := a.asked(pingWith(string(inJSON(t, map[string]any{"n": 11, "who": attack}))))
	id := run.Waiting[0].ID
	_, body := a.visit("admin", "GET", "/approvals", nil)
	for _, want := range []string{`id="` + id + `"`, "that is a lot", "&lt;img src=x onerror=alert(1)&gt;", "always", `data-key="a"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Contains(body, "\u202e") || inline.MatchString(body) {
		t.Error(inline.FindString(body))
	}
	if _, body := a.visit("reader", "GET", "/approvals", nil); strings.Contains(body, `data-key="a"`) {
		t.Error("the page lets a person answer who has no right to")
	}
	if res, _ := a.visit("other", "POST", "/approvals/"+id, url.Values{"decision": {"approve"}}); res.StatusCode != 404 {
		t.Error(res.StatusCode)
	}
	if res, _ := a.visit("agent", "POST", "/approvals/"+id, url.Values{"decision": {"approve"}}); res.StatusCode != 403 {
		t.Error("an agent answers for its own run:", res.StatusCode)
	}
	if res, _ := a.visit("admin", "POST", "/approvals/"+id, url.Values{"decision": {"maybe"}}); res.StatusCode != 400 {
		t.Error(res.StatusCode)
	}
	if res, _ := a.visit("admin", "POST", "/approvals/"+id, url.Values{"decision": {"deny"}, "reason": {"too much"}}); res.StatusCode != 303 {
		t.Error(res.StatusCode)
	}
	a.ended(run.RunID)
	if res, _ := a.visit("admin", "POST", "/approvals/"+id, url.Values{"decision": {"approve"}}); res.StatusCode != 303 || called.Load() != 0 {
		t.Error("a second answer:", res.StatusCode, called.Load())
	}
	if denied := a.approvals("denied"); len(denied) != 1 || denied[0].Via != "page" || denied[0].Reason != "too much" {
		t.Errorf("%+v", denied)
	}
	_, body = a.visit("reader", "GET", "/runs/"+run.RunID, nil)
	for _, want := range []string{`class="timeline"`, "p.ping", "denied.approval"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of the run does not have %s", want)
		}
	}
	if _, body = a.visit("reader", "GET", "/tools?tool=p.ping", nil); !strings.Contains(body, "function ping") && !strings.Contains(body, "ping(") {
		t.Error("the page of the tools does not have the declaration")
	}
}
