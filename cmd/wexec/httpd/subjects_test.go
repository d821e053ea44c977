package httpd

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

func TestDeletionOnPostgreSQL(t *testing.T) {
	testpg.Again(t, "APersonIsDeleted|AnActorIsDeleted|TheTokenOfARun|ThatHasNotEnded|ARestoredBackup|ALiveSession")
}

// The person whom the tests delete.
const (
	person = "Ada.Lovelace@example.org"
	other  = "charles.babbage@example.org"
)

// directory is an MCP server that answers with messages about people.
func directory(t *testing.T) (mcpFile string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "directory", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		text := "write to " + map[string]string{"ada": person, "charles": other}[in.Name]
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return serveMCP(t, server)
}

// spellings are what a file may not have of a value after its deletion.
func spellings(value string) (all [][]byte) {
	wide := func(order func(u uint16) []byte) (out []byte) {
		for _, u := range utf16.Encode([]rune(value)) {
			out = append(out, order(u)...)
		}
		return out
	}
	little := wide(func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} })
	big := wide(func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} })
	for _, raw := range [][]byte{[]byte(value), []byte(strings.ToLower(value)), little, big} {
		all = append(all, raw, []byte(hex.EncodeToString(raw)), []byte(strings.ToUpper(hex.EncodeToString(raw))))
		for shift := range 3 { // base64 of it, wherever it begins in a text
			text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), raw...))
			all = append(all, []byte(text[shift+1:len(text)-2]))
		}
	}
	return all
}

// files returns all files of the server by name: data folder, store, logs.
func (a *api) files() map[string][]byte {
	a.t.Helper()
	all := map[string][]byte{}
	for _, root := range []string{a.data, filepath.Dir(strings.TrimPrefix(a.address, "sqlite:"))} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && e.Type().IsRegular() {
				all[path], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
	if strings.HasPrefix(a.address, "postgres:") {
		a.rows(a.address, all)
	}
	return all
}

// rows adds every text and all bytes of the tables of a PostgreSQL store.
func (a *api) rows(address string, to map[string][]byte) {
	a.t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		a.t.Fatal(err)
	}
	defer db.Close()
	columns, err := db.QueryContext(a.t.Context(), `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND data_type IN ('text', 'bytea')`)
	if err != nil {
		a.t.Fatal(err)
	}
	defer columns.Close()
	var names [][2]string
	for columns.Next() {
		var n [2]string
		if err := columns.Scan(&n[0], &n[1]); err != nil {
			a.t.Fatal(err)
		}
		names = append(names, n)
	}
	if err := columns.Err(); err != nil || len(names) == 0 {
		a.t.Fatal(len(names), err)
	}
	for _, n := range names {
		values, err := db.QueryContext(a.t.Context(), "SELECT "+n[1]+" FROM "+n[0])
		if err != nil {
			a.t.Fatal(err)
		}
		for values.Next() {
			var data []byte
			if err := values.Scan(&data); err != nil {
				a.t.Fatal(err)
			}
			to[n[0]+"."+n[1]] = append(append(to[n[0]+"."+n[1]], data...), '\n')
		}
		if err := values.Err(); err != nil {
			a.t.Fatal(err)
		}
		_ = values.Close()
	}
}

// has reports in which files a value is, in any spelling.
func (a *api) has(value string) (found []string) {
	a.t.Helper()
	for name, data := range a.files() {
		for _, spelling := range spellings(value) {
			if bytes.Contains(data, spelling) {
				found = append(found, fmt.Sprintf("%s has %q", name, spelling))
				break
			}
		}
	}
	return found
}

const who = `{"language":"js","code":"const a = await tools.p.who({name: args.name}); console.log(a); return a","args":{"name":%q}}`

// people makes runs that have the person in each place where a run can have one, and
// runs of somebody else. It returns their ids.
func (a *api) people() (of, others []string) {
	a.t.Helper()
	b64 := base64.StdEncoding.EncodeToString([]byte("x " + person))
	var wide []byte
	for _, u := range utf16.Encode([]rune(person)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	body := func(more string) string { return `{"language":"js","code":"return 1",` + more + `}` }
	for i, b := range []string{
		fmt.Sprintf(who, "ada"),
		`{"language":"js","code":"return '` + person + `'.length"}`,
		`{"language":"ts","code":"const to: string = '` + person + `'; return to"}`,
		body(`"args":{"to":["` + person + `"]}`),
		body(`"args":{"to":"Ada.Lovelace\u0040example.org"}`),
		body(`"args":{"url":"https://x.example/?q=ada.lovelace%40example.org"}`),
		body(`"args":{"data":"` + b64 + `"}`),
		body(`"args":{"data":"` + hex.EncodeToString([]byte(person)) + `"}`),
		body(`"args":{"data":"` + base64.StdEncoding.EncodeToString(wide) + `"}`),
		body(`"input":"dear ` + strings.ToUpper(person) + `,"`),
		body(`"intent":"mail ` + person + `"`),
		body(`"session":"` + person + `"`),
		body(`"file":"` + person + `"`),
		`{"language":"js","code":"throw new Error('no ` + person + `')"}`,
		`{"language":"python","code":"import base64; print(base64.b64decode('` + b64 + `').decode())"}`,
	} {
		var run shownRun
		a.call("agent", "POST", "/v1/runs?wait=5m", b, "Idempotency-Key", fmt.Sprintf("p%d", i)).is(200, &run)
		of = append(of, run.RunID)
	}
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=5m", body(`"seed":1`), "Idempotency-Key", person).is(200, &run)
	of = append(of, run.RunID)
	for _, b := range []string{
		fmt.Sprintf(who, "charles"),
		body(`"args":{"to":"` + other + `"}`),
		body(`"args":{"to":"Ada_Lovelace@example.org"}`),
		body(`"intent":"greet Ada"`),
	} {
		a.call("agent", "POST", "/v1/runs?wait=5m", b).is(200, &run)
		others = append(others, run.RunID)
	}
	return of, others
}

type deleted struct {
	ID                                        string
	Runs, Events, Requests, Vaults, Approvals int
	Tokens, Running                           int
}

func TestAPersonIsDeletedFromEverythingThatLasts(t *testing.T) {
	a := newAPI(t, files{"tenants/default/mcp.json": directory(t), "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\naudit: {code: full, inputs: full, outputs: full}\n"})
	of, others := a.people()
	if len(a.has(person)) == 0 {
		t.Error("the test does not find the person before the deletion")
	}
	var first, again deleted
	a.call("other", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &first)
	if first.Runs != 0 {
		t.Errorf("another tenant deleted %+v", first)
	}
	got := a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &first)
	if first.Runs != len(of) || first.Vaults == 0 || first.Events == 0 || first.Requests != len(of) || first.Running != 0 || first.ID == "" || bytes.Contains(got.body, []byte("ovelace")) {
		t.Errorf("%s, want %d runs", got.body, len(of))
	}
	for _, id := range of {
		a.call("reader", "GET", "/v1/runs/"+id, "").problem(404, "usage.run")
	}
	for _, id := range others {
		a.call("reader", "GET", "/v1/runs/"+id, "").is(200)
	}
	if found := a.has(person); len(found) > 0 {
		t.Errorf("after the deletion:\n%s", strings.Join(found, "\n"))
	}
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &again)
	if again.Runs != 0 {
		t.Errorf("the second deletion removed %+v", again)
	}
	report, err := a.store.Check(t.Context())
	if err != nil || len(report.Faults) > 0 {
		t.Errorf("%v %v", report.Faults, err)
	}
}

func TestTheTokenOfARunNamesThePerson(t *testing.T) {
	a := newAPI(t, files{"tenants/default/mcp.json": directory(t), "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"})
	of, others := a.people()
	var run shownRun
	a.call("reader", "GET", "/v1/runs/"+of[0], "").is(200, &run)
	if string(run.Value) != `"write to [EMAIL_1]"` {
		t.Fatalf("%+v", run)
	}
	a.call("admin", "POST", "/v1/subjects/delete", `{"run_id":"`+of[0]+`","token":"[EMAIL_2]"}`).problem(404, "usage.run")
	a.call("other", "POST", "/v1/subjects/delete", `{"run_id":"`+of[0]+`","token":"[EMAIL_1]"}`).problem(404, "usage.run")
	for _, body := range []string{`{}`, `{"kind":"email"}`, `{"value":"ab"}`, `{"token":"[EMAIL_1]"}`, `{"run_id":"` + of[0] + `"}`, `{"actor":"bot","value":"x@example.org"}`, `{"actor":""}`} {
		a.call("admin", "POST", "/v1/subjects/delete", body).problem(400, "usage.flag")
	}
	var got deleted
	a.call("admin", "POST", "/v1/subjects/delete", `{"run_id":"`+of[0]+`","token":"[EMAIL_1:example.org]"}`).is(200, &got)
	if got.Runs != len(of) || len(a.has(person)) > 0 {
		t.Errorf("%+v of %d runs, and then %v", got, len(of), a.has(person))
	}
	a.call("reader", "GET", "/v1/runs/"+others[0], "").is(200)
}

func TestAnActorIsDeletedWithRunsAnswersAndTokens(t *testing.T) {
	servers, _ := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"})
	const name = "grace.hopper"
	var made struct{ ID, Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"`+name+`","type":"person","scopes":["admin"]}`).is(201, &made)
	var own, others shownRun
	a.call(made.Token, "POST", "/v1/runs?wait=5m", `{"language":"js","code":"return 1"}`).is(200, &own)
	a.call("agent", "POST", "/v1/runs", ping).is(202, &others)
	a.call(made.Token, "POST", "/v1/approvals/"+others.Waiting[0].ID, `{"decision":"approve","reason":"because"}`).is(200)
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/"+others.RunID, "").is(200, &others)
		return others.State == "done"
	})
	a.call(made.Token, "POST", "/v1/subjects/delete", `{"actor":"`+name+`"}`).problem(409, "usage.conflict")
	if len(a.has(name)) == 0 {
		t.Error("the test does not find the actor before the deletion")
	}
	var got deleted
	a.call("admin", "POST", "/v1/subjects/delete", `{"actor":"`+name+`"}`).is(200, &got)
	if got.Runs != 1 || got.Approvals != 1 || got.Tokens != 1 {
		t.Errorf("%+v", got)
	}
	a.call(made.Token, "GET", "/v1/runs", "").problem(401, "denied.token")
	a.call("reader", "GET", "/v1/runs/"+own.RunID, "").problem(404, "usage.run")
	a.call("reader", "GET", "/v1/runs/"+others.RunID, "").is(200)
	if found := a.has(name); len(found) > 0 {
		t.Errorf("after the deletion:\n%s", strings.Join(found, "\n"))
	}
}

func TestARunThatHasNotEndedIsCancelledAndDeleted(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"while (true) {}","intent":"for `+person+`","limits":{"time":"60s","fuel":1000000000000}}`).is(202, &run)
	var got deleted
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &got)
	if got.Runs != 1 || got.Running != 0 {
		t.Errorf("%+v", got)
	}
	a.call("reader", "GET", "/v1/runs/"+run.RunID, "").problem(404, "usage.run")
	if found := a.has(person); len(found) > 0 {
		t.Errorf("after the deletion:\n%s", strings.Join(found, "\n"))
	}
}

// A backup that is older than a deletion has the person. What is restored from it
// does not.
func TestARestoredBackupDoesNotHaveWhatWasDeletedSince(t *testing.T) {
	a := newAPI(t, files{"tenants/default/mcp.json": directory(t), "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\naudit: {code: full, inputs: full, outputs: full}\n"})
	of, others := a.people()
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := a.store.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if key, err := os.ReadFile(filepath.Join(a.data, "seal.key")); err != nil {
		t.Fatal(err)
	} else if data, err := os.ReadFile(backup); err != nil || bytes.Contains(data, bytes.Fields(key)[len(bytes.Fields(key))-1]) {
		t.Errorf("the backup has the seal key: %v", err)
	}
	var got deleted
	a.call("admin", "POST", "/v1/subjects/delete", `{"value":"`+person+`"}`).is(200, &got)
	a.stop()
	a.address = testpg.Store(t)
	restored, err := store.Open(t.Context(), a.address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := restored.Close(); err != nil {
		t.Fatal(err)
	}
	a.open() // as wexec serve does
	for _, id := range of {
		a.call("reader", "GET", "/v1/runs/"+id, "").problem(404, "usage.run")
	}
	for _, id := range others {
		a.call("reader", "GET", "/v1/runs/"+id, "").is(200)
	}
	if found := a.has(person); len(found) > 0 {
		t.Errorf("after the restore:\n%s", strings.Join(found, "\n"))
	}
}

func TestTheAuditIsVerifiedAndExportedWithoutThePerson(t *testing.T) {
	a := newAPI(t, files{"tenants/default/mcp.json": directory(t), "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\naudit: {code: full, inputs: full, outputs: full}\n"})
	of, others := a.people()
	export := func(token, query string) string {
		t.Helper()
		got := a.call(token, "GET", "/v1/audit/export"+query, "").is(200)
		for line := range bytes.Lines(got.body) {
			if !json.Valid(line) {
				t.Errorf("a line is not JSON: %s", line)
			}
		}
		return string(got.body)
	}
	before := export("admin", "")
	for _, part := range []string{of[0], others[0], "[EMAIL_1]", `const a = await tools.p.who`, `"type":"decision"`, `"id":"actor_`} {
		if !strings.Contains(before, part) {
			t.Errorf("the export does not have %s", part)
		}
	}
	if one := export("admin", "?run="+others[0]); strings.Contains(one, of[0]) || !strings.Contains(one, "who({name") {
		t.Errorf("the export of a run is\n%s", one)
	}
	if strings.Contains(before, `"bot"`) || strings.Contains(export("other", ""), of[0]) || export("admin", "?until=2001-01-01T00:00:00Z") != "" {
		t.Error("the export has the name of an actor, another tenant, or another time")
	}
	a.call("admin", "GET", "/v1/audit/export?since=yesterday", "").problem(400, "usage.flag")
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200)
	after := export("admin", "")
	if !strings.Contains(after, of[0]) || !strings.Contains(after, others[0]) || !strings.Contains(after, `"type":"deletion"`) {
		t.Error("the chain does not have all records after the deletion")
	}
	for _, spelling := range spellings(person) {
		if strings.Contains(after, string(spelling)) {
			t.Errorf("the export has %q after the deletion", spelling)
		}
	}
	var report struct {
		OK       bool
		Records  int
		Problems []any
	}
	a.call("admin", "GET", "/v1/audit/verify", "").is(200, &report)
	if !report.OK || report.Records != strings.Count(after, "\n") {
		t.Errorf("%+v, and %d records", report, strings.Count(after, "\n"))
	}
	segments, err := filepath.Glob(filepath.Join(a.data, "tenants/default/audit/*.jsonl"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segments[0], bytes.Replace(data, []byte(`"effect":"allow"`), []byte(`"effect":"chose"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if a.call("admin", "GET", "/v1/audit/verify", "").is(200, &report); report.OK || len(report.Problems) == 0 {
		t.Errorf("a record was changed: %+v", report)
	}
}

func TestRunsAreKeptAsLongAsTheTenantSays(t *testing.T) {
	a := newAPI(t, files{"tenants/other/wexec.yaml": "retention: {runs: 2h}\n"})
	var short, long shownRun
	a.call("other", "POST", "/v1/runs?wait=5m", bodies["POST /v1/runs"]).is(200, &short)
	a.call("agent", "POST", "/v1/runs?wait=5m", bodies["POST /v1/runs"]).is(200, &long)
	shown := func(token, id string) bool { return a.call(token, "GET", "/v1/runs/"+id, "").status == 200 }
	if err := a.service.Maintain(t.Context(), time.Now().Add(time.Hour)); err != nil || !shown("other", short.RunID) || !shown("agent", long.RunID) {
		t.Errorf("after an hour: %v", err)
	}
	if err := a.service.Maintain(t.Context(), time.Now().Add(3*time.Hour)); err != nil || shown("other", short.RunID) || !shown("agent", long.RunID) {
		t.Errorf("after 3 hours: %v", err)
	}
	if err := a.service.Maintain(t.Context(), time.Now().Add(31*24*time.Hour)); err != nil || shown("agent", long.RunID) {
		t.Errorf("after 31 days: %v", err)
	}
}

// count counts the runs of a session in a variable, and looks a person up.
func count(session, name string) string {
	code := "globalThis.n = (globalThis.n ?? 0) + 1;"
	if name != "" {
		code += " await tools.p.who({name: '" + name + "'});"
	}
	return fmt.Sprintf(`{"language":"js","session":%q,"code":%q}`, session, code+" return n")
}

// A session keeps values of tokens and what its programs defined, so it does not
// outlive the person, on any server.
func TestALiveSessionEndsWithThePerson(t *testing.T) {
	servers, _ := anyPinger(t)
	var both struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	for i, text := range []string{directory(t), servers} {
		var one struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(text), &one); err != nil || one.Servers["p"] == nil {
			t.Fatal(text, err)
		}
		if both.Servers == nil {
			both.Servers = map[string]json.RawMessage{}
		}
		both.Servers[[]string{"p", "q"}[i]] = one.Servers["p"]
	}
	mcpFile, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	tenant := files{"tenants/default/mcp.json": string(mcpFile), "tenants/default/policy.yaml": "version: 1\ntools: {allow: [p.who], ask: [q.ping]}\n"}
	a := newAPI(t, tenant)
	b := a.second(tenant)
	for name, of := range map[string]string{"ann": "default", "stranger": "other"} {
		secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: of, Name: "ann", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = secret
	}
	run := func(on *api, token, body string, want string) {
		t.Helper()
		var run shownRun
		if on.call(token, "POST", "/v1/runs?wait=5m", body).is(200, &run); string(run.Value) != want {
			t.Errorf("%s in %s is %s %+v, want %s", token, body, run.Value, run.Error, want)
		}
	}
	run(a, "agent", count("looked up", "ada"), "1")
	run(a, "agent", count("written", ""), "1")
	run(a, "agent", `{"language":"js","session":"written","code":"globalThis.who = '`+person+`'; return 0"}`, "0")
	run(a, "agent", count("busy", "ada"), "1")
	run(a, "agent", count("of another", "charles"), "1")
	run(a, "ann", count("of ann", "charles"), "1")
	run(b, "agent", count("looked up, on b", "ada"), "1")
	run(b, "agent", count("of another, on b", "charles"), "1")
	run(b, "ann", count("of ann, on b", ""), "1")
	files{"tenants/other/wexec.yaml": ""}.write(t, a.data)
	run(a, "stranger", count("of ann", ""), "1")
	busy := a.asked(`{"language":"js","session":"busy","code":"await tools.q.ping({}); globalThis.n++; return n"}`)

	var out deleted
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &out)
	if out.Runs != 4 || out.Running != 1 {
		t.Errorf("%+v", out)
	}
	a.call("admin", "POST", "/v1/approvals/"+busy.Waiting[0].ID, `{"decision":"approve"}`).is(200)
	if ended := a.ended(busy.RunID); string(ended.Value) != "2" {
		t.Errorf("the run in a session that ends: %+v", ended)
	}
	run(a, "agent", count("looked up", ""), "1")
	run(a, "agent", count("written", ""), "1")
	run(a, "agent", count("busy", ""), "1")
	run(a, "agent", count("of another", ""), "2")
	run(a, "ann", count("of ann", ""), "2")
	if err := b.service.Maintain(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	run(b, "agent", count("looked up, on b", ""), "1")
	run(b, "agent", count("of another, on b", ""), "2")

	a.call("admin", "POST", "/v1/subjects/delete", `{"actor":"ann"}`).is(200)
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "ann", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun, store.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	a.tokens["ann again"] = secret
	run(a, "ann again", count("of ann", ""), "1")
	run(a, "stranger", count("of ann", ""), "2")
	run(a, "agent", count("of another", ""), "3")
	if err := b.service.Maintain(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	run(b, "ann again", count("of ann, on b", ""), "1")
	run(b, "agent", count("of another, on b", ""), "3")
}
