package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/store"
)

// counting counts the runs of a session.
const counting = `globalThis.n = (globalThis.n ?? 0) + 1; return n`

// in runs a program in a session of a token and returns the value, or the code.
func (a *api) in(token, session, code string) string {
	a.t.Helper()
	body, err := json.Marshal(map[string]string{"language": "js", "code": code, "session": session})
	if err != nil {
		a.t.Fatal(err)
	}
	var run shownRun
	a.call(token, "POST", "/v1/runs?wait=5m", string(body)).is(200, &run)
	if run.Error.Code != "" {
		return run.Error.Code
	}
	return string(run.Value)
}

func TestASessionIsUsedForkedAndEnded(t *testing.T) {
	a := newAPI(t, nil)
	var info engine.SessionInfo
	a.call("agent", "POST", "/v1/sessions", `{"name":"notes","language":"js"}`).is(201, &info)
	if info.Name != "notes" || info.Language != "javascript" || info.State != engine.SessionAwake {
		t.Errorf("%+v", info)
	}
	a.call("agent", "POST", "/v1/sessions", `{"name":"notes","language":"js"}`).problem(409, "usage.session")
	a.call("agent", "POST", "/v1/sessions", `{"name":"","language":"js"}`).problem(400, "usage.flag")
	a.call("agent", "POST", "/v1/sessions", `{"name":"a\u0000b","language":"js"}`).problem(400, "usage.flag")
	a.call("agent", "POST", "/v1/sessions", `{"name":"x","language":"cobol"}`).problem(400, "usage.language")
	want := func(token, session, value string) {
		t.Helper()
		if got := a.in(token, session, counting); got != value {
			t.Errorf("%s in %s: %s, not %s", token, session, got, value)
		}
	}
	want("agent", "notes", "1")
	want("agent", "notes", "2")
	a.call("agent", "POST", "/v1/sessions/notes/sleep", "").is(200, &info)
	if info.State != engine.SessionAsleep || info.Bytes == 0 || info.Bytes > 64<<10 {
		t.Errorf("asleep: %+v", info)
	}
	a.call("agent", "POST", "/v1/sessions/notes/fork", `{"name":"child"}`).is(201, &info)
	want("agent", "child", "3")
	want("agent", "child", "4")
	want("agent", "notes", "3")
	a.call("agent", "POST", "/v1/sessions/notes/fork", `{"name":"child"}`).problem(409, "usage.session")
	a.call("agent", "POST", "/v1/sessions/child/sleep", "").is(200)
	a.call("agent", "POST", "/v1/sessions/notes/fork", `{"name":"child"}`).problem(409, "usage.session")
	a.call("agent", "POST", "/v1/sessions/child/wake", "").is(200, &info)
	if info.State != engine.SessionAwake {
		t.Errorf("awake: %+v", info)
	}

	var page struct{ Sessions []engine.SessionInfo }
	a.call("agent", "GET", "/v1/sessions", "").is(200, &page)
	if len(page.Sessions) != 2 {
		t.Errorf("%+v", page)
	}
	// Another actor and another tenant have other sessions under the same names.
	for _, other := range []string{"admin", "other"} {
		a.call(other, "GET", "/v1/sessions", "").is(200, &page)
		if len(page.Sessions) != 0 {
			t.Errorf("%s sees %+v", other, page)
		}
		a.call(other, "GET", "/v1/sessions/notes", "").problem(404, "usage.session")
		for _, act := range []string{"sleep", "wake"} {
			a.call(other, "POST", "/v1/sessions/notes/"+act, "").problem(404, "usage.session")
		}
		a.call(other, "POST", "/v1/sessions/notes/fork", `{"name":"mine"}`).problem(404, "usage.session")
		a.call(other, "DELETE", "/v1/sessions/notes", "").problem(404, "usage.session")
		want(other, "notes", "1")
	}
	a.call("agent", "DELETE", "/v1/sessions/notes", "").is(200)
	a.call("agent", "POST", "/v1/sessions/child/sleep", "").is(200)
	a.call("agent", "DELETE", "/v1/sessions/child", "").is(200)
	a.call("agent", "GET", "/v1/sessions/child", "").problem(404, "usage.session")
	want("agent", "notes", "1")
}

func TestASessionSurvivesARestartOfTheServer(t *testing.T) {
	a := newAPI(t, nil)
	for round := range 3 {
		if got := a.in("agent", "notes", counting); got != fmt.Sprint(round+1) {
			t.Fatalf("round %d: %s", round, got)
		}
		a.stop()
		a.open()
	}
}

func TestASessionIsAwakeOnOneServer(t *testing.T) {
	a := newAPI(t, nil)
	b := a.second(files{"tenants/default/wexec.yaml": readFile(t, filepath.Join(a.data, "tenants/default/wexec.yaml"))})
	if got := a.in("agent", "notes", counting); got != "1" {
		t.Fatal(got)
	}
	if got := b.in("agent", "notes", counting); got != "usage.session" {
		t.Errorf("another server answered %s", got)
	}
	a.call("agent", "POST", "/v1/sessions/notes/sleep", "").is(200)
	// Each server has its own folder of blobs here, so the image is missing on the other.
	if got := b.in("agent", "notes", counting); got != "usage.session" {
		t.Errorf("a server without the image answered %s", got)
	}
	if got := a.in("agent", "notes", counting); got != "2" {
		t.Errorf("the session was lost: %s", got)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An image is of no use to another session, in an older generation, or after a byte of it
// was changed.
func TestAnImageThatWasExchangedIsRefused(t *testing.T) {
	a := newAPI(t, nil)
	at := filepath.Join(a.data, "blobs", "sessions")
	images := func() (paths []string) {
		_ = filepath.WalkDir(at, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, path)
			}
			return nil
		})
		return paths
	}
	sleep := func(name string) string {
		t.Helper()
		a.in("agent", name, counting)
		a.call("agent", "POST", "/v1/sessions/"+name+"/sleep", "").is(200)
		return images()[0]
	}
	older := sleep("notes")
	first := readFile(t, older)
	if strings.Contains(first, "globalThis") {
		t.Error("the image is not sealed")
	}
	second := sleep("notes")
	if len(images()) != 1 {
		t.Errorf("images: %v", images())
	}
	intact := readFile(t, second)
	changed := []byte(intact)
	changed[len(changed)/2] ^= 1
	for what, content := range map[string]string{"an older generation": first, "a changed byte": string(changed), "a cut": intact[:len(intact)-1], "nothing": ""} {
		if err := os.WriteFile(second, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		a.call("agent", "POST", "/v1/sessions/notes/wake", "").problem(400, "usage.session")
		if got := a.in("agent", "notes", counting); got != "usage.session" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if err := os.WriteFile(second, []byte(intact), 0o600); err != nil {
		t.Fatal(err)
	}
	// The row of another session does not open it either.
	row, _, err := a.store.Session(t.Context(), store.SessionKey{Tenant: "default", Actor: "bot", Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	thief := store.SessionKey{Tenant: "other", Actor: "oz", Name: "notes"}
	if _, ok, err := a.store.ClaimSession(t.Context(), thief, row.Language, 0, "thief"); !ok || err != nil {
		t.Fatal(err)
	}
	row.SessionKey, row.Generation = thief, 1
	if ok, err := a.store.PutSession(t.Context(), row, "thief"); !ok || err != nil {
		t.Fatal(err)
	}
	if got := a.in("other", "notes", counting); got != "usage.session" {
		t.Errorf("another tenant: %s", got)
	}
	if got := a.in("agent", "notes", counting); got != "3" {
		t.Errorf("the session was lost: %s", got)
	}
}

// A server that ends without putting its sessions to sleep loses them, and the next run
// is told.
func TestALostSessionIsReportedOnce(t *testing.T) {
	a := newAPI(t, nil)
	k := store.SessionKey{Tenant: "default", Actor: "bot", Name: "notes"}
	if _, ok, err := a.store.ClaimSession(t.Context(), k, "javascript", 0, "a server that died"); !ok || err != nil {
		t.Fatal(err)
	}
	if got := a.in("agent", "notes", counting); got != "usage.session" {
		t.Errorf("while it may live: %s", got)
	}
	late, err := store.Open(t.Context(), a.address, store.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := late.RenewSessions(t.Context(), "a server that died"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"usage.session", "1"} {
		if got := a.in("agent", "notes", counting); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A session that a client names over MCP is that of its actor: it outlives the
// connection, and the API has it too.
func TestASessionOutlivesItsMCPConnection(t *testing.T) {
	a := newAPI(t, nil)
	for round := range 3 {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: a.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(a.tokens["agent"])}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": counting, "session": "notes"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(res.StructuredContent)
		if err != nil || !strings.Contains(string(text), fmt.Sprintf(`"value":%d`, 2*round+1)) {
			t.Errorf("round %d: %s %v", round, text, err)
		}
		_ = session.Close()
		if got := a.in("agent", "notes", counting); got != fmt.Sprint(2*round+2) {
			t.Errorf("round %d over the API: %s", round, got)
		}
	}
}
