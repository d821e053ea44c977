package httpd

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/store"
)

// shownWorkspace is what clients read of a workspace.
type shownWorkspace struct {
	ID, Folder, State, Actor, Run, Summary string
	Changed                                int
}

// newFolderAPI starts a server whose tenants default and other have the folder site. It has
// the tokens reviewer (an agent that reads and approves) and revealer as well.
func newFolderAPI(t *testing.T, content map[string]string) (a *api, base string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		at := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a = newAPI(t, files{"tenants/default/wexec.yaml": "cache: " + testenv.Cache() + "\nworkspaces: {site: '" + base + "'}\n",
		"wexec.yaml": "tenants: {other: {root: '" + base + "'}}\n", "tenants/other/wexec.yaml": "workspaces: {site: '" + base + "'}\n"})
	for name, scopes := range map[string][]store.Scope{"reviewer": {store.ScopeRead, store.ScopeApprove}, "revealer": {store.ScopeRead, store.ScopeReveal}} {
		secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: name, Type: store.TypeAgent, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = secret
	}
	return a, base
}

// changed makes a workspace in which a program of the token agent did something.
func (a *api) changed(code string) shownWorkspace {
	a.t.Helper()
	var w shownWorkspace
	a.call("agent", "POST", "/v1/workspaces", `{"folder":"site"}`).is(201, &w)
	a.inWorkspace(w.ID, code)
	a.call("reader", "GET", "/v1/workspaces/"+w.ID, "").is(200, &w)
	return w
}

// inWorkspace runs a program of the token agent, which must succeed.
func (a *api) inWorkspace(id, code string) {
	a.t.Helper()
	var run struct {
		Status    string
		Error     any
		Workspace struct{ ID string }
	}
	a.call("agent", "POST", "/v1/runs", `{"language":"python","code":`+quoted(code)+`,"workspace":"`+id+`"}`).is(200, &run)
	if run.Status != "ok" || run.Workspace.ID != id {
		a.t.Fatalf("%+v", run)
	}
}

func TestAWorkspaceIsChangedShownAndAccepted(t *testing.T) {
	a, base := newFolderAPI(t, map[string]string{"shapes.py": "def area(w, h):\n    return w * h  # TODO: units\n", "notes.md": "one\n", "gone.txt": "x\n"})
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	w := a.changed("import os\n" +
		"for hit in search_content(r'# TODO', glob='*.py'):\n    t = open(hit['file']).read(); open(hit['file'], 'w').write(t.replace('  # TODO: units', ''))\n" +
		"os.remove('gone.txt'); os.mkdir('new'); open('new/bytes', 'wb').write(b'\\0\\1')\n" +
		"submit_result(summary='resolve TODO\\nand more')")
	if w.Folder != "site" || w.State != "open" || w.Actor != "bot" || w.Changed != 4 || w.Summary != "resolve TODO\nand more" || w.Run == "" {
		t.Errorf("%+v", w)
	}
	a.inWorkspace(w.ID, "assert 'TODO' not in open('shapes.py').read(); open('notes.md', 'a').write('two\\n')") // a second run sees the first one's changes
	diff := string(a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/diff", "").is(200).body)
	for _, want := range []string{"-    return w * h  # TODO: units\n+    return w * h\n", "+++ b/notes.md\n@@ -1,1 +1,2 @@\n one\n+two\n", "deleted file mode 100644", "Binary files /dev/null and b/new/bytes differ"} {
		if !strings.Contains(diff, want) {
			t.Errorf("no %q in\n%s", want, diff)
		}
	}
	archive := a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/export", "").is(200)
	if got := unzipped(t, archive.body); got["notes.md"] != "one\ntwo\n" || got["new/bytes"] != "\x00\x01" || len(got) != 4 || archive.header.Get("Content-Disposition") != "attachment; filename="+w.ID+".zip" {
		t.Errorf("%q, %v", got, archive.header)
	}
	if read("notes.md") != "one\n" || read("gone.txt") != "x\n" {
		t.Error("the folder changed before the accept")
	}
	a.call("agent", "POST", "/v1/workspaces/"+w.ID+"/accept", "").problem(403, "denied.scope") // its own
	a.call("reader", "POST", "/v1/workspaces/"+w.ID+"/accept", "").problem(403, "denied.scope")
	for range 2 { // again it changes nothing
		a.call("reviewer", "POST", "/v1/workspaces/"+w.ID+"/accept", "").is(200, &w)
		if w.State != "accepted" || read("notes.md") != "one\ntwo\n" || !strings.Contains(read("gone.txt"), "no such file") {
			t.Errorf("%+v", w)
		}
	}
	a.call("admin", "POST", "/v1/workspaces/"+w.ID+"/reject", "").problem(409, "usage.workspace")
	a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/diff", "").problem(409, "usage.workspace")
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"1","workspace":"`+w.ID+`"}`).problem(409, "usage.workspace")
	records, err := os.ReadFile(newestAudit(t, a, "default"))
	if err != nil || !strings.Contains(string(records), `"kind":"workspace"`) {
		t.Errorf("the audit has no record of the accept: %v", err)
	}
	a.call("agent", "DELETE", "/v1/workspaces/"+w.ID, "").is(200)
	a.call("reader", "GET", "/v1/workspaces/"+w.ID, "").problem(404, "usage.workspace")
}

// newestAudit returns a file of the audit of a tenant.
func newestAudit(t *testing.T, a *api, tenant string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(a.data, "tenants", tenant, "audit", "*.jsonl"))
	if err != nil || len(all) == 0 {
		t.Fatalf("there is no audit: %v", err)
	}
	return all[len(all)-1]
}

// quoted writes a text as JSON.
func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func unzipped(t *testing.T, data []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

func TestWorkspacesAreListedAndMadeOnce(t *testing.T) {
	a, base := newFolderAPI(t, nil)
	var first, again shownWorkspace
	a.call("agent", "POST", "/v1/workspaces", `{"folder":"site"}`, "Idempotency-Key", "k").is(201, &first)
	a.call("agent", "POST", "/v1/workspaces", `{"folder":"site"}`, "Idempotency-Key", "k").is(201, &again)
	if first.ID != again.ID {
		t.Errorf("%s and %s", first.ID, again.ID)
	}
	a.call("admin", "POST", "/v1/workspaces", `{"folder":"site"}`, "Idempotency-Key", "k").is(201, &again)
	if first.ID == again.ID {
		t.Error("two actors have one workspace")
	}
	for _, folder := range []string{"", "none", base, "../site", "site/.."} {
		got := a.call("agent", "POST", "/v1/workspaces", `{"folder":`+quoted(folder)+`}`)
		got.problem(400, "usage.workspace")
		if folder != base && strings.Contains(string(got.body), base) {
			t.Errorf("the problem names the folder: %s", got.body)
		}
	}
	var page struct {
		Workspaces []shownWorkspace
		Next       string
	}
	a.call("reader", "GET", "/v1/workspaces?limit=1", "").is(200, &page)
	if len(page.Workspaces) != 1 || page.Next == "" {
		t.Errorf("%+v", page)
	}
	cursor := page.Next
	page.Next = ""
	a.call("reader", "GET", "/v1/workspaces?cursor="+cursor, "").is(200, &page)
	if len(page.Workspaces) != 1 || page.Next != "" {
		t.Errorf("%+v", page)
	}
	// The tenant other has the same folder, and no workspaces.
	a.call("other", "GET", "/v1/workspaces", "").is(200, &page)
	if len(page.Workspaces) != 0 {
		t.Errorf("another tenant sees %+v", page)
	}
	for _, one := range []string{first.ID, first.ID[:5], strings.ToUpper(first.ID), "..", "%2e%2e%2fdefault", "x"} {
		if got := a.call("other", "GET", "/v1/workspaces/"+one+"/diff", ""); got.status != 404 {
			t.Errorf("%s: %d %s", one, got.status, got.body)
		}
		a.call("other", "POST", "/v1/runs", `{"language":"js","code":"1","workspace":`+quoted(one)+`}`).problem(404, "usage.workspace")
	}
	a.call("admin", "POST", "/v1/runs", `{"language":"js","code":"1","workspace":"`+first.ID+`"}`).problem(403, "denied.scope") // of another actor
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"1","session":"s","workspace":"`+first.ID+`"}`).problem(400, "usage.flag")
	a.call("admin", "POST", "/v1/workspaces/"+first.ID+"/reject", "").is(200, &first)
	a.call("admin", "POST", "/v1/workspaces/"+first.ID+"/reject", "").is(200, &first)
	a.call("admin", "POST", "/v1/workspaces/"+first.ID+"/accept", "").problem(409, "usage.workspace")
	if first.State != "rejected" {
		t.Errorf("%+v", first)
	}
}

// TestClientsReadTokensInWorkspaces has personal data in names, in lines that changed and
// around them, in files and in the summary.
func TestClientsReadTokensInWorkspaces(t *testing.T) {
	a, base := newFolderAPI(t, map[string]string{"people.csv": "name,mail\nAnn,ann.lee@example.com\nBob,bob.ray@example.com\n", "mails/ann.lee@example.com": "hello\n"})
	w := a.changed("import os\nt = open('people.csv').read(); open('people.csv', 'w').write(t.replace('bob.ray', 'rob.ray').replace('Ann,', ''))\n" +
		"open('mails/ann.lee@example.com', 'a').write('more')\nopen('new', 'w').write('x\\n' * 60000 + 'call ann.lee@example.com\\n')\n" +
		"submit_result(summary='mail to ann.lee@example.com')")
	values := []string{"ann.lee", "bob.ray", "rob.ray"}
	for token, reveals := range map[string]bool{"reader": false, "admin": false, "agent": false, "revealer": true} {
		for _, path := range []string{"/v1/workspaces", "/v1/workspaces/" + w.ID, "/v1/workspaces/" + w.ID + "/diff"} {
			got := string(a.call(token, "GET", path, "").is(200).body)
			for _, v := range values {
				if strings.Contains(got, v) && !reveals {
					t.Errorf("%s reads %s in %s: %.600s", token, v, path, got)
				}
			}
			if reveals && !strings.Contains(got, "ann.lee@example.com") || !reveals && !strings.Contains(got, "[EMAIL_1]") {
				t.Errorf("%s reads in %s: %.600s", token, path, got)
			}
		}
		all := unzipped(t, a.call(token, "GET", "/v1/workspaces/"+w.ID+"/export", "").is(200).body)
		for name, text := range all {
			for _, v := range values {
				if strings.Contains(name+text, v) && !reveals {
					t.Errorf("%s reads %s in the export of %s", token, v, name)
				}
			}
		}
		if len(all) != 3 || len(all["new"]) < 120_000 {
			t.Errorf("the export has %d files, %d bytes", len(all), len(all["new"]))
		}
	}
	diff := string(a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/diff", "").body)
	for _, line := range []string{"\n-Ann,[EMAIL_1]\n", "\n+[EMAIL_1]\n", "\n+call [EMAIL_1]\n"} { // the marks stay
		if !strings.Contains(diff, line) {
			t.Errorf("no %q in %.600s", line, diff)
		}
	}
	// A conflict names its path with a token.
	if err := os.WriteFile(filepath.Join(base, "mails", "ann.lee@example.com"), []byte("other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := a.call("admin", "POST", "/v1/workspaces/"+w.ID+"/accept", "")
	if got.problem(409, "usage.workspace"); strings.Contains(string(got.body), "ann.lee") || !strings.Contains(string(got.body), "mails/[EMAIL_1]") {
		t.Errorf("%s", got.body)
	}
}

// TestAWorkspaceInUseIsLeftAlone does things with a workspace that a run uses.
func TestAWorkspaceInUseIsLeftAlone(t *testing.T) {
	a, _ := newFolderAPI(t, map[string]string{"a": "1"})
	w := a.changed("open('a', 'w').write('2')")
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"await new Promise((r) => setTimeout(r, 600000))","workspace":"`+w.ID+`"}`).is(202, &run)
	until(t, "the diff can be read or not", func() bool { return a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/diff", "").status == 409 })
	for method, path := range map[string]string{"POST": "/accept", "DELETE": ""} {
		a.call("admin", method, "/v1/workspaces/"+w.ID+path, "").problem(409, "usage.workspace")
	}
	a.call("admin", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200)
	until(t, "the diff can be read or not", func() bool { return a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/diff", "").status == 200 })
}

// TestAFolderIsUsedAsTheOperatorSays changes what folders are between requests.
func TestAFolderIsUsedAsTheOperatorSays(t *testing.T) {
	a, base := newFolderAPI(t, map[string]string{"a": "1"})
	w := a.changed("open('a', 'w').write('2')")
	elsewhere := t.TempDir()
	for name, lines := range map[string]string{"none": "", "another": "workspaces: {site: '" + elsewhere + "'}\n", "off": "workspaces: {site: '" + base + "'}\nfeatures: {workspaces: off}\n"} {
		files{"tenants/default/wexec.yaml": "cache: " + testenv.Cache() + "\n" + lines}.write(t, a.data)
		if err := a.service.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"diff", "export"} {
			if got := a.call("reader", "GET", "/v1/workspaces/"+w.ID+"/"+what, ""); got.status/100 != 4 || strings.Contains(string(got.body), base) {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		if got := a.call("admin", "POST", "/v1/workspaces/"+w.ID+"/accept", ""); got.status/100 != 4 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	// A link in the place of the folder leads out of the root of the tenant other.
	elsewhere = filepath.Join(t.TempDir(), "site")
	files{"wexec.yaml": "tenants: {other: {root: '" + filepath.Dir(elsewhere) + "'}}\n", "tenants/other/wexec.yaml": "workspaces: {site: '" + elsewhere + "'}\n"}.write(t, a.data)
	if err := errors.Join(os.Symlink(base, elsewhere), a.service.Reload(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := a.call("other", "POST", "/v1/workspaces", `{"folder":"site"}`); got.status != 400 || strings.Contains(string(got.body), base) {
		t.Errorf("over a link: %d %s", got.status, got.body)
	}
	if data, _ := os.ReadFile(filepath.Join(base, "a")); string(data) != "1" {
		t.Errorf("the folder has %q", data)
	}
}
