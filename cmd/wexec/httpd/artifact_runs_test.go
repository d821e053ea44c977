package httpd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

func TestArtifactsOfRunsOnPostgreSQL(t *testing.T) {
	testpg.Again(t, "AnArtifactOfARun|ProgramsReadWhat|ArtifactsAreBounded|DeletedFromArtifacts|LargeValueBecomes")
}

// keeping is the files of a tenant whose programs use artifacts and the directory.
func keeping(t *testing.T) files {
	return files{"tenants/default/mcp.json": directory(t), "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\npii: {mode: tokenize}\n",
		"tenants/other/policy.yaml": "version: 1\ntools: {allow: ['*']}\npii: {mode: tokenize}\n"}
}

// program runs a program and returns its value.
func (a *api) program(token, language, code string, args any) shownRun {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"language": language, "code": code, "args": args})
	if err != nil {
		a.t.Fatal(err)
	}
	var run shownRun
	a.call(token, "POST", "/v1/runs?wait=5m", string(body)).is(200, &run)
	return run
}

// value is program for one that succeeds.
func (a *api) value(token, language, code string, args any, into any) {
	a.t.Helper()
	run := a.program(token, language, code, args)
	if run.Status != "ok" {
		a.t.Fatalf("%s: %+v", language, run)
	}
	if err := json.Unmarshal(run.Value, into); err != nil {
		a.t.Fatal(err)
	}
}

type page struct {
	Artifact, Name, Type, Text string
	Bytes, Lines, From, Next   int
	Matches                    []struct {
		Line int
		Text string
	}
}

// A run keeps a text with tokens. Another run reads it with its own tokens, which
// mean the same values.
func TestAnArtifactOfARunIsReadByAnother(t *testing.T) {
	a := newAPI(t, keeping(t))
	for language, code := range map[string][2]string{
		"javascript": {`const ada = await tools.p.who({name: 'ada'}), charles = await tools.p.who({name: 'charles'});
			return await artifacts.put('people.txt', ada + '\n' + 'x\n'.repeat(100) + charles + ' [EMAIL_9]\njavascript\n', {type: 'text/csv'})`,
			`const charles = await tools.p.who({name: 'charles'}); const p = await artifacts.read(args.id, {from: 102, lines: 1});
			const found = await tools.artifacts.read({id: args.id, match: 'write to .EMAIL'});
			return {page: p, same: p.text.startsWith(charles), matches: found.matches, values: (await tools.artifacts.read({id: args.id, match: 'example.org'})).matches}`},
		"python": {`from tools import p, artifacts
ada, charles = p.who(name="ada"), p.who(name="charles")
artifacts.put("people.txt", ada + "\n" + "x\n" * 100 + charles + " [EMAIL_9]\npython\n", type="text/csv")`,
			`from tools import p, artifacts
charles = p.who(name="charles")
page = artifacts.read(args["id"], from_=102, lines=1)
from tools.aio import artifacts as later
found = await later.read(args["id"], match="write to .EMAIL")
{"page": page, "same": page["text"].startswith(charles), "matches": found["matches"], "values": artifacts.read(id=args["id"], match="example.org")["matches"]}`},
	} {
		var kept shownArtifact
		a.value("agent", language, code[0], nil, &kept)
		if kept.Name != "people.txt" || kept.Type != "text/csv" || kept.Bytes == 0 || !strings.HasPrefix(kept.Artifact, "sha256:") {
			t.Fatalf("%s: %+v", language, kept)
		}
		var got struct {
			Page    page
			Same    bool
			Matches []struct{ Text string }
			Values  []struct{}
		}
		a.value("agent", language, code[1], map[string]string{"id": kept.Artifact}, &got)
		if !got.Same || got.Page.From != 102 || got.Page.Lines != 103 || got.Page.Next != 103 || !strings.HasSuffix(got.Page.Text, " [~EMAIL_9]\n") || strings.Contains(got.Page.Text, "@") {
			t.Errorf("%s: %+v", language, got)
		}
		if len(got.Matches) != 2 || len(got.Values) != 0 {
			t.Errorf("%s: %+v", language, got)
		}
		refused := a.program("other", language, code[1], map[string]string{"id": kept.Artifact})
		if refused.Status == "ok" {
			t.Errorf("%s: another tenant reads %+v", language, refused)
		}
		path := "/v1/artifacts/" + strings.TrimPrefix(kept.Artifact, "sha256:")
		var lines page
		a.call("reader", "GET", path+"/lines?match=write&lines=1", "").is(200, &lines)
		if len(lines.Matches) != 1 || lines.Next != 102 || !strings.Contains(lines.Matches[0].Text, "write to [EMAIL_") {
			t.Errorf("%s: %+v", language, lines)
		}
		if body := a.call("reader", "GET", path, "").is(200).body; strings.Contains(string(body), "@") || !strings.Contains(string(body), "[EMAIL_") {
			t.Errorf("%s: a client reads %s", language, body)
		}
		secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "dpo", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeRead, store.ScopeReveal}})
		if err != nil {
			t.Fatal(err)
		}
		if body := a.call(secret, "GET", path, "").is(200).body; !strings.Contains(string(body), person) || !strings.Contains(string(body), other+" [EMAIL_9]") {
			t.Errorf("%s: a person who may see values reads %s", language, body)
		}
		a.call(secret, "GET", path+"/lines?match=example.org", "").is(200, &lines)
		if len(lines.Matches) != 2 {
			t.Errorf("%s: %+v", language, lines)
		}
		a.call("other", "GET", path+"/lines", "").problem(404, "usage.file")
		a.call("reader", "GET", path+"/lines?match=(", "").problem(400, "usage.flag")
		if found := a.has(person); len(found) > 0 {
			t.Errorf("%s: %v", language, found)
		}
	}
}

// What a client sends is read by programs as tokens: no pattern finds a value.
func TestProgramsReadWhatClientsSend(t *testing.T) {
	a := newAPI(t, keeping(t))
	kept, path := a.upload("admin", "name=mail.csv", "text/csv", "name,mail\nAda,"+person+"\nforged,[EMAIL_1]\n")
	for language, code := range map[string]string{
		"javascript": `const a = await tools.artifacts.read({id: args.id}), b = await tools.artifacts.read({id: args.id, match: '(?i)lovelace|example'}); return {...a, matches: b.matches}`,
		"python":     "from tools import artifacts\n{**artifacts.read(id=args['id']), 'matches': artifacts.read(id=args['id'], match='(?i)lovelace|example')['matches']}",
	} {
		var got page
		a.value("agent", language, code, map[string]string{"id": kept.Artifact}, &got)
		if !strings.Contains(got.Text, "[EMAIL_1]\nforged,[~EMAIL_1]") || strings.Contains(got.Text, "example.org") || len(got.Matches) > 0 {
			t.Errorf("%s: %+v", language, got)
		}
		a.value("agent", language, map[string]string{
			"javascript": `const d = await tools.artifacts.put({name: 'b', data: new Uint8Array([0, 255, 1])}); const b = await tools.artifacts.read({id: d.artifact}); return {name: d.type, bytes: b.length, lines: b[1]}`,
			"python":     "from tools import artifacts\nd = artifacts.put(name='b', data=bytes([0, 255, 1]))\nb = artifacts.read(id=d['artifact'])\n{'name': d['type'], 'bytes': len(b), 'lines': b[1]}",
		}[language], nil, &got)
		if got.Bytes != 3 || got.Lines != 255 || got.Name != "application/octet-stream" {
			t.Errorf("%s: %+v", language, got)
		}
	}
	a.call("admin", "DELETE", path, "").is(200)
	if run := a.program("agent", "js", `return await tools.artifacts.read({id: args.id})`, map[string]string{"id": kept.Artifact}); run.Error.Code != "tool.invalid_args" {
		t.Errorf("%+v", run.Error)
	}
}

func TestArtifactsAreBounded(t *testing.T) {
	more := keeping(t)
	more["tenants/other/wexec.yaml"] = "quotas: {artifacts: 10KiB}\n"
	a := newAPI(t, more)
	run := a.program("other", "js", `return await tools.artifacts.put({name: 'a', data: 'x'.repeat(20000)})`, nil)
	if run.Error.Code != "limit.artifact" {
		t.Errorf("%+v", run)
	}
	_, path := a.upload("agent", "", "text/plain", strings.Repeat(strings.Repeat("a", 60)+"\n", 200_000))
	var lines page
	a.call("agent", "GET", path+"/lines?match=b", "").is(200, &lines)
	if lines.Next == 0 || lines.Next > 150_000 {
		t.Errorf("a query searched up to line %d", lines.Next)
	}
	for _, pattern := range []string{"(a{30}){30}", "(((a*)*)*)*{900}", strings.Repeat("a", 501)} {
		a.call("agent", "GET", path+"/lines?match="+pattern, "").problem(400, "usage.flag")
	}
}

// A person is deleted from artifacts too: what runs put and what clients sent.
func TestAPersonIsDeletedFromArtifacts(t *testing.T) {
	a := newAPI(t, keeping(t))
	put := `return await artifacts.put(args.file, 'to ' + await tools.p.who({name: args.name}))`
	var of, others []string
	keep := func(name, text string) string {
		kept, _ := a.upload("agent", "name="+name, "application/octet-stream", text)
		return kept.Artifact
	}
	run := func(name, file string) string {
		var kept shownArtifact
		a.value("agent", "js", put, map[string]string{"name": name, "file": file}, &kept)
		return kept.Artifact
	}
	of = append(of, run("ada", "a.txt"), keep("a", "x\n"+strings.ToUpper(person)), keep("b", strings.Repeat("\x00\xff", 6_000_000)+"\n"+person), keep("c", `{"to":"`+quotedPerson+`"}`), keep(person, "name"))
	others = append(others, run("charles", "b.txt"), keep("d", other), keep("e", "x"+person))
	var got struct{ Artifacts, Runs int }
	a.call("other", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &got)
	if got.Artifacts != 0 {
		t.Errorf("another tenant deleted %+v", got)
	}
	a.call("admin", "POST", "/v1/subjects/delete", `{"kind":"email","value":"`+person+`"}`).is(200, &got)
	if got.Artifacts != len(of) || got.Runs != 1 {
		t.Errorf("%+v, want %d artifacts", got, len(of))
	}
	for i, id := range append(of, others...) {
		status := 404
		if i >= len(of) {
			status = 200
		}
		if got := a.call("agent", "GET", "/v1/artifacts/"+strings.TrimPrefix(id, "sha256:"), ""); got.status != status {
			t.Errorf("artifact %d answers %d, want %d", i, got.status, status)
		}
	}
	if found := a.has(person); len(found) > 0 {
		t.Errorf("after the deletion:\n%s", strings.Join(found, "\n"))
	}
	a.call("admin", "POST", "/v1/subjects/delete", `{"actor":"bot"}`).is(200, &got)
	if got.Artifacts != len(others) {
		t.Errorf("%+v, want %d artifacts of the actor", got, len(others))
	}
}

// quotedPerson is person as JSON may have it.
const quotedPerson = `Ada.Lovelace\u0040example.org`

// A model reads artifacts in pages, with tokens, if its token may read.
func TestAModelReadsArtifacts(t *testing.T) {
	a := newAPI(t, keeping(t))
	kept, _ := a.upload("agent", "name=mail.csv", "text/csv", "to "+person+"\n"+strings.Repeat("x\n", 500)+"last\n")
	for token, want := range map[string]string{"agent": "to [EMAIL_1]", "other": "there is no such artifact"} {
		session, err := a.mcp(token)
		if err != nil {
			t.Fatal(err)
		}
		for match, want := range map[string]string{"": want, "last": `"line":502`, "ovelace": `"matches":[]`} {
			if token == "other" {
				want = "there is no such artifact"
			}
			if got := toolText(t, session, "read_artifact", map[string]any{"artifact": kept.Artifact, "match": match}); !strings.Contains(got, want) || strings.Contains(got, person) {
				t.Errorf("%s, %q: %s, want %s", token, match, got, want)
			}
		}
		_ = session.Close()
	}
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "runs", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}})
	if err != nil {
		t.Fatal(err)
	}
	a.tokens["runs"] = secret
	session, err := a.mcp("runs")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := toolText(t, session, "read_artifact", map[string]any{"artifact": kept.Artifact}); !strings.Contains(got, "scope read") {
		t.Errorf("without the scope: %s", got)
	}
}
