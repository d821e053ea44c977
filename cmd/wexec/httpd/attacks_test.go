package httpd

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/store"
)

// token makes a token and keeps it under a name.
func (a *api) token(as string, t store.Token) {
	a.t.Helper()
	secret, _, err := a.service.CreateToken(a.t.Context(), t)
	if err != nil {
		a.t.Fatal(err)
	}
	a.tokens[as] = secret
}

func TestAnAgentNeverAnswersForItself(t *testing.T) {
	servers, called := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"})
	a.token("second", store.Token{Tenant: "default", Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeApprove, store.ScopeRun, store.ScopeRead}})
	a.token("root", store.Token{Tenant: "default", Name: "root", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeAdmin}})
	id := a.asked(ping).Waiting[0].ID
	for _, token := range []string{"agent", "second"} { // another token of the same agent is the agent
		a.call(token, "POST", "/v1/approvals/"+id, `{"decision":"approve"}`).problem(403, "denied.scope")
	}
	var page struct {
		Approvals []struct {
			MayAnswer bool `json:"may_answer"`
		}
	}
	if a.call("second", "GET", "/v1/approvals", "").is(200, &page); len(page.Approvals) != 1 || page.Approvals[0].MayAnswer {
		t.Errorf("%+v", page)
	}
	// An agent with the scope admin makes no token that answers.
	var run shownRun
	a.call("root", "POST", "/v1/runs", ping).is(202, &run)
	a.call("root", "POST", "/v1/approvals/"+run.Waiting[0].ID, `{"decision":"approve","always":true}`).problem(403, "denied.scope")
	for body, status := range map[string]int{
		`{"name":"n","type":"person","scopes":["run"]}`:     403,
		`{"name":"n","type":"person","scopes":["approve"]}`: 403,
		`{"name":"n","scopes":["approve"]}`:                 403,
		`{"name":"n","scopes":["run","admin"]}`:             403,
		`{"name":"n","scopes":["run","read"]}`:              201,
	} {
		if got := a.call("root", "POST", "/v1/tokens", body); got.status != status {
			t.Errorf("%s: %d, want %d: %s", body, got.status, status, got.body)
		}
	}
	if called.Load() != 0 {
		t.Errorf("the tool was called %d times without an answer", called.Load())
	}
}

func TestATokenGivesNoToolThatItDoesNotHave(t *testing.T) {
	servers, called := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\n"})
	a.token("narrow", store.Token{Tenant: "default", Name: "narrow", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}, Tools: []string{"github.*", "jira.*"}})
	for tools, status := range map[string]int{`,"tools":["*"]`: 403, `,"tools":["p.*"]`: 403, `,"tools":["github.*","p.ping"]`: 403, `,"tools":[""]`: 403, `,"tools":["github.*"]`: 201, "": 201} {
		var made struct{ Token string }
		got := a.call("narrow", "POST", "/v1/tokens", `{"name":"n","scopes":["run"]`+tools+`}`)
		if got.status != status {
			t.Errorf("%s: %d, want %d: %s", tools, got.status, status, got.body)
		}
		if got.status != 201 {
			continue
		}
		var run shownRun
		got.is(201, &made)
		if a.call(made.Token, "POST", "/v1/runs", ping).is(200, &run); run.Error.Code != "denied.tool" {
			t.Errorf("%s: %+v", tools, run)
		}
	}
	if called.Load() != 0 {
		t.Errorf("the tool was called %d times", called.Load())
	}
}

func TestATokenGivesNoQuotaAndNoTimeBeyondItsOwn(t *testing.T) {
	a := newAPI(t, nil)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	a.token("brief", store.Token{Tenant: "default", Name: "brief", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin},
		Expires: until, Quotas: store.Quotas{RunsPerDay: 5, MoneyPerDay: 1}})
	later, sooner := until.Add(time.Minute).Format(time.RFC3339), until.Add(-time.Minute).Format(time.RFC3339)
	for fields, status := range map[string]int{
		`,"expires":"` + later + `"`:         403,
		`,"expires":"` + sooner + `"`:        201,
		`,"quotas":{"runs_per_day":6}`:       403,
		`,"quotas":{"money_per_day":1.5}`:    403,
		`,"quotas":{"runs_per_day":5}`:       201,
		`,"quotas":{"running":1}`:            201,
		``:                                   201,
		`,"quotas":{"running":1},"tools":[]`: 201,
	} {
		if got := a.call("brief", "POST", "/v1/tokens", `{"name":"made","scopes":["run"]`+fields+`}`); got.status != status {
			t.Errorf("%s: %d, want %d: %s", fields, got.status, status, got.body)
		}
	}
	var page struct{ Tokens []store.Token }
	a.call("brief", "GET", "/v1/tokens", "").is(200, &page)
	for _, made := range page.Tokens {
		if made.Name == "made" && (made.Expires.IsZero() || made.Expires.After(until) || made.Quotas.RunsPerDay != 5 || made.Quotas.MoneyPerDay != 1) {
			t.Errorf("%+v", made)
		}
	}
}

func TestAnIdempotencyKeyOfAnotherTokenFindsNoRun(t *testing.T) {
	a := newAPI(t, nil)
	a.token("second", store.Token{Tenant: "default", Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead}})
	body := func(value string) string { return `{"language":"js","code":"return '` + value + `'"}` }
	runs := map[string]bool{}
	for _, token := range []string{"agent", "second", "admin", "other"} {
		var run, again shownRun
		a.call(token, "POST", "/v1/runs?wait=5m", body(token), "Idempotency-Key", "k").is(200, &run)
		a.call(token, "POST", "/v1/runs?wait=5m", body(token), "Idempotency-Key", "k").is(200, &again)
		if string(run.Value) != `"`+token+`"` || again.RunID != run.RunID || runs[run.RunID] {
			t.Errorf("%s: %+v", token, run)
		}
		runs[run.RunID] = true
	}
}

// No name of a request is a path on the server.
func TestNamesInRequestsAreNoPaths(t *testing.T) {
	a := newAPI(t, nil)
	key, err := os.ReadFile(filepath.Join(a.data, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../default", "..", ".", "other/../default", `other\..\default`, "/etc", "default/", "DEFAULT", "default\u0000", "ｄefault", "%2e%2e", strings.Repeat("a", 5000)} {
		got := a.call("admin", "POST", "/v1/tokens", fmt.Sprintf(`{"name":"n","scopes":["read"],"tenant":%q}`, name))
		if got.status != 400 {
			t.Errorf("a token of the tenant %.40q: %d %s", name, got.status, got.body)
		}
	}
	for _, id := range []string{"..%2f..%2fseal.key", "%2e%2e%2fseal.key", "..%5cseal.key", "%2fetc%2fpasswd", "sha256:..%2fseal.key", strings.Repeat("A", 64), strings.Repeat("0", 63) + "%2f", "%00"} {
		for _, path := range []string{"/v1/artifacts/", "/v1/runs/", "/v1/approvals/", "/v1/tools/", "/v1/sessions/", "/mcp/p/"} {
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				got := a.call("admin", method, path+id, "")
				if got.status < 400 || got.status >= 500 || bytes.Contains(got.body, key) {
					t.Errorf("%s %s%s: %d %s", method, path, id, got.status, got.body)
				}
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(a.data, "tenants"))
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder of the tenants has %v, %v", entries, err)
	}
}

// A program reaches nothing outside the root that the operator named, by no link.
func TestALinkDoesNotLeadOutOfTheRootOfATenant(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	files{"secret.txt": "outside the root", "folder/secret.txt": "outside the root"}.write(t, outside)
	files{"in.txt": "inside", "folder/in.txt": "inside"}.write(t, root)
	for name, to := range map[string]string{"file.lnk": filepath.Join(outside, "secret.txt"), "dir.lnk": outside, "folder/up.lnk": "../../" + filepath.Base(outside),
		"chain.lnk": "dir.lnk", "new.lnk": filepath.Join(outside, "new.txt"), "in.lnk": "in.txt"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	a := newAPI(t, files{"wexec.yaml": "tenants: {acme: {root: '" + root + "'}}\n", "tenants/acme/policy.yaml": "version: 1\nfiles: {read: ['" + root + "/**'], write: ['" + root + "/**']}\n"})
	a.token("acme", store.Token{Tenant: "acme", Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead}})
	run := func(code string) (run shownRun) {
		t.Helper()
		a.call("acme", "POST", "/v1/runs?wait=5m", fmt.Sprintf(`{"language":"python","code":%q}`, code)).is(200, &run)
		return run
	}
	for _, name := range []string{"in.txt", "in.lnk", "folder/in.txt"} {
		if got := run("print(open('" + root + "/" + name + "').read())"); got.Stdout != "inside\n" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, code := range []string{
		"print(open('ROOT/file.lnk').read())", "print(open('ROOT/dir.lnk/secret.txt').read())", "print(open('ROOT/chain.lnk/folder/secret.txt').read())",
		"print(open('ROOT/folder/up.lnk/secret.txt').read())", "print(open('ROOT/dir.lnk/../" + filepath.Base(outside) + "/secret.txt').read())",
		"print(open('ROOT/../" + filepath.Base(outside) + "/secret.txt').read())", "print(open('" + outside + "/secret.txt').read())",
		"import os; print(os.listdir('ROOT/dir.lnk'))", "open('ROOT/new.lnk', 'w').write('x')", "open('ROOT/dir.lnk/new.txt', 'w').write('x')",
		"import os; os.symlink('" + outside + "', 'ROOT/made.lnk'); print(open('ROOT/made.lnk/secret.txt').read())",
		"import os; os.rename('ROOT/in.txt', 'ROOT/dir.lnk/moved.txt')", "import os; os.link('ROOT/file.lnk', 'ROOT/hard.txt'); print(open('ROOT/hard.txt').read())",
	} {
		got := run(strings.ReplaceAll(code, "ROOT", root))
		if got.Status == "ok" || got.Stdout != "" || strings.Contains(got.Error.Message, "outside the root") {
			t.Errorf("%s: %+v", code, got)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder outside has %v, %v", entries, err)
	}
}

// A client that sends too much or too slowly is refused, and its connection closed.
func TestWhatAClientSendsIsBoundedInSizeAndTime(t *testing.T) {
	a := newAPI(t, nil)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() { _ = a.server.Serve(t.Context(), l, nil, time.Minute) })
	request := "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + a.tokens["agent"] + "\r\nContent-Type: application/json\r\nConnection: close\r\n"
	attacks := map[string]struct{ send, want string }{
		"a huge header":          {request + "X-Long: " + strings.Repeat("x", 2*maxHeader+8<<10) + "\r\n\r\n", "431 "},
		"many headers":           {request + strings.Repeat("X-Many: x\r\n", maxHeader) + "\r\n", "431 "},
		"a huge body":            {request + fmt.Sprintf("Content-Length: %d\r\n\r\n", 1<<40) + strings.Repeat("x", 1<<20), "400 "},
		"two lengths":            {request + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400 "},
		"two tokens":             {request + "Authorization: Bearer " + a.tokens["admin"] + "\r\nContent-Length: 2\r\n\r\n{}", "401 "},
		"headers that never end": {"GET /v1/runs HTTP/1.1\r\nHost: x\r\n", ""},
	}
	if !testing.Short() {
		attacks["a body that never ends"] = struct{ send, want string }{request + "Content-Length: 100\r\n\r\n{", "400 "}
	}
	var all sync.WaitGroup
	for name, attack := range attacks {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
			go func() { _, _ = io.WriteString(conn, attack.send) }() // the server may close before it read all
			answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Errorf("%s: the connection is open after 5 minutes", name)
			}
			status, _, _ := bytes.Cut(bytes.TrimPrefix(answer, []byte("HTTP/1.1 ")), []byte("\r\n"))
			// A connection that is closed while the client sends may lose the answer.
			if len(answer) > 0 && !strings.HasPrefix(string(status), attack.want) || len(answer) == 0 && name == "two tokens" {
				t.Errorf("%s: %q", name, status)
			}
		})
	}
	all.Wait()
	if n := a.server.bodies.Load(); n != 0 {
		t.Errorf("%d bytes are counted after all requests", n)
	}
	var page struct{ Runs []shownRun }
	if a.call("reader", "GET", "/v1/runs", "").is(200, &page); len(page.Runs) != 0 {
		t.Errorf("an attack started a run: %+v", page.Runs)
	}
}

func TestABackupDoesNotHaveTheSealKey(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=5m", `{"language":"js","code":"return 1","args":{"to":"ada@example.org"}}`).is(200, &run)
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"bob@example.org"}`).is(200)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := a.store.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(a.data, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.TrimSpace(text)
	forms := [][]byte{line}
	for word := range bytes.FieldsSeq(line) {
		for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
			if raw, err := decode(string(word)); err == nil && len(raw) >= 16 {
				forms = append(forms, raw, []byte(hex.EncodeToString(raw)), []byte(base64.StdEncoding.EncodeToString(raw)))
			}
		}
	}
	if len(forms) < 2 {
		t.Fatalf("the key is not understood: a line of %d bytes", len(line))
	}
	for i, form := range forms {
		if bytes.Contains(data, form) {
			t.Errorf("the backup has the seal key in form %d", i)
		}
	}
	// What the backup has sealed cannot be opened with a key that it brings along.
	if bytes.Contains(data, []byte(seal.Variable)) || bytes.Contains(data, []byte("seal.key")) {
		t.Error("the backup names the seal key")
	}
}
