package doors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/cmd/wexec/cli"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/workspace"
)

// listings are the commands with --json, as docs/use/json.md shows them. They run
// one after the other in one folder.
var listings = [][]string{
	{"run", "--json", "-l", "js", "-e", "console.log('hello'); return (await tools.github.list_commits({ limit: 2 })).length"},
	{"run", "--check", "--json", "-l", "js", "-e", "await tools.github.list_comits()"},
	{"tools", "list", "--json"},
	{"tools", "list", "--categories", "--json"},
	{"tools", "search", "commits", "--limit", "1", "--detail", "full", "--json"},
	{"tools", "show", "github.get_commit", "--json"},
	{"tools", "pin", "github.get_commit", "--yes", "--json"},
	{"policy", "check", "--json"},
	{"policy", "test", "--json"},
	{"policy", "explain", "github.create_issue", "--json"},
	{"privacy", "scan", "--json", "mail.txt"},
	{"privacy", "explain", "--json", "ann@example.com"},
	{"privacy", "kinds", "--json"},
	{"audit", "show", "--json"},
	{"audit", "verify", "--json"},
	{"approvals", "list", "--json"},
	{"ps", "--json"},
	{"logs", keptRun, "--json"},
	{"kill", queuedRun, "--json"},
	{"runs", "list", "--json"},
	{"runs", "show", keptRun, "--json"},
	{"session", "list", "--json"},
	{"session", "fork", "work", "try", "--json"},
	{"session", "end", "try", "--json"},
	{"usage", "--json"},
	{"token", "create", "--name", "ci", "--scopes", "run", "--json"},
	{"token", "list", "--tenant", "acme", "--json"},
	{"token", "revoke", keptToken, "--json"},
	{"store", "migrate", "--json"},
	{"store", "check", "--json"},
	{"store", "backup", "backup.db", "--json"},
	{"store", "restore", "backup.db", "--data", "restored", "--json"},
	{"store", "copy", "sqlite:restored/wexec.db", "sqlite:copy.db", "--json"},
	{"store", "prune", "--json"},
	{"workspace", "list", "--json"},
	{"workspace", "diff", keptWorkspace, "--json"},
	{"workspace", "accept", keptWorkspace, "--yes", "--json"},
	{"workspace", "gc", "--older", "0s", "--json"},
	{"mcp", "login", "--status", "--json"},
	{"config", "show", "--json"},
	{"packages", "add", "--json", "reports"}, {"packages", "list", "--json"},
	{"guests", "list", "--json"},
	{"guests", "verify", "--json"},
	{"doctor", "--json"},
	{"version", "--json"},
}

// keptRun, queuedRun and keptToken are in the store of the folder, keptWorkspace is over
// its folder notes.
const (
	keptWorkspace = "q7m2xk4tzd"

	keptRun   = "01M82MK6T0B1BMH49PZ38PCEA2"
	queuedRun = "01M82MK6T0B1BMH49PZ38PCEA1"
	keptToken = "tok_3kq5c2mzr7ab"
)

// keep puts runs and a token into the user's store.
func keep(t *testing.T, dir string, env []string) {
	t.Helper()
	result, err := command(t.Context(), dir, env, listings[0]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command(t.Context(), dir, env, "run", "--session", "work", "-l", "js", "-e", "let n = 1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := opened(t, "sqlite:"+filepath.Join(dir, ".local", "share", "wexec", "wexec.db"))
	code, err := json.Marshal(map[string]string{"language": "javascript", "code": listings[0][len(listings[0])-1]})
	if err != nil {
		t.Fatal(err)
	}
	l, err := accepted(t.Context(), s, store.Run{Tenant: "default", ID: keptRun, Actor: "ci", Language: "javascript", Intent: "count commits", Request: code})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), store.Run{Tenant: "default", ID: queuedRun, Actor: "ci", Language: "python"}, "", store.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	_, err = s.CreateToken(t.Context(), store.Token{Tenant: "acme", ID: keptToken, Name: "Ann", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeRun},
		Tools: []string{"github.*"}, Expires: time.Now().Add(24 * time.Hour)})
	if err := errors.Join(err, s.SetState(t.Context(), l, store.StateRunning), s.End(t.Context(), l, store.Outcome{Status: "ok", Result: result, Uses: []store.Use{{Kind: "run", Count: 1, Fuel: 310935}}})); err != nil {
		t.Fatal(err)
	}
}

// keepWorkspace makes a workspace that changed a file and added one.
func keepWorkspace(t *testing.T, dir string) {
	t.Helper()
	base := filepath.Join(dir, "notes")
	if err := errors.Join(os.Mkdir(base, 0o700), os.WriteFile(filepath.Join(base, "a.md"), []byte("one\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Create(filepath.Join(dir, ".local", "state", "wexec", "workspaces", keptWorkspace), workspace.Info{ID: keptWorkspace, Base: base}, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.md", "b.md"} {
		f, err := w.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write([]byte("two\n"))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Used(keptRun)
	if err := errors.Join(err, w.Submit("number the notes"), w.Rename("b.md", "c.md", nil), w.Close()); err != nil {
		t.Fatal(err)
	}
}

const listingPolicy = `version: 1
name: example
tools:
  ask: [github.create_issue]
  allow: [github.list_*, github.get_*]
tests:
  - {tool: github.list_commits, expect: allow}
`

// TestWhatJSONHasIsDocumented compares docs/use/json.md with what the commands
// print: every key of an answer must be in the example of its command. -update
// rewrites the examples.
func TestWhatJSONHasIsDocumented(t *testing.T) {
	dir, env := furnished(t, listingPolicy)
	if err := os.WriteFile(filepath.Join(dir, "mail.txt"), []byte("write to ann@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wexec.yaml"), []byte("mcp: mcp.json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "reports"), 0o700), os.WriteFile(filepath.Join(dir, "reports", "__init__.py"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t.Context(), dir, env, "config", "trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	keep(t, dir, env)
	keepWorkspace(t, dir)
	path := filepath.Join("..", "..", "docs", "use", "json.md")
	have, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var doc strings.Builder
	doc.WriteString("# JSON\n\nWhat commands print with `--json`: one document each, or a line for each record in `audit show` and for each event in `logs`. The examples are real, with lists cut to one item\n" +
		"and long texts cut short. Keys that have nothing to say are left out; new keys may come, none changes its meaning. Sizes are in bytes, times in milliseconds, and the exit status is what it is without `--json`. `wexec run --jsonl` prints each event as a line and the Result last.\n")
	above := ""
	for _, args := range listings {
		line := "wexec " + strings.Join(quoted(args), " ")
		var out, wrong bytes.Buffer
		cmd := command(t.Context(), dir, env, args...)
		cmd.Stdout, cmd.Stderr = &out, &wrong
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		var short, example bytes.Buffer
		if err := cutShort(json.NewDecoder(&out), &short, dir); err != nil {
			t.Errorf("%s: %v: %s", line, err, wrong.String())
			continue
		}
		if err := json.Indent(&example, short.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if name := commandOf(args); name != above {
			above = name
			fmt.Fprintf(&doc, "\n## wexec %s\n", name)
		}
		fmt.Fprintf(&doc, "\n```sh\n%s\n```\n\n```json\n%s\n```\n", line, example.String())
		if *update {
			continue
		}
		_, shown, ok := strings.Cut(string(have), "\n```sh\n"+line+"\n```\n\n```json\n")
		shown, _, _ = strings.Cut(shown, "\n```\n")
		var documented, printed any
		if !ok || json.Unmarshal([]byte(shown), &documented) != nil || json.Unmarshal(short.Bytes(), &printed) != nil {
			t.Errorf("docs/use/json.md does not show %s", line)
			continue
		}
		known := map[string]bool{}
		keysOf(documented, "", known)
		actual := map[string]bool{}
		keysOf(printed, "", actual)
		for _, key := range slices.Sorted(maps.Keys(actual)) {
			if !known[key] {
				t.Errorf("%s has %s, which docs/use/json.md does not show: go test ./tests/doors -run JSONHas -update", line, key)
			}
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	everyListing(t)
}

// everyListing holds the list of this test against the commands that have the
// flag. Those that only show one of what another lists, or what the API of a server
// answers, are left out.
func everyListing(t *testing.T) {
	t.Helper()
	left := []string{"approvals show", "audit replay", "plugin call", "runs resume", "session sleep", "session wake", "tools types"}
	left = append(left, "task add", "task list", "task show", "task logs", "task retry", "task cancel", "task accept", "task reject") // answers of a server
	for section := range strings.SplitSeq(cli.Markdown(), "\n## wexec ") {
		name, rest, _ := strings.Cut(section, "\n")
		if !strings.Contains(rest, "| `--json` |") || slices.Contains(left, name) {
			continue
		}
		if !slices.ContainsFunc(listings, func(args []string) bool { return commandOf(args) == name }) {
			t.Errorf("wexec %s has --json and is not in docs/use/json.md", name)
		}
	}
}

// commandOf is the command that arguments call.
func commandOf(args []string) string {
	if args[1] == "--check" {
		return "run --check"
	}
	if slices.Contains([]string{"run", "ps", "logs", "kill", "usage", "doctor", "version"}, args[0]) {
		return args[0]
	}
	return args[0] + " " + args[1]
}

func quoted(args []string) []string {
	var out []string
	for _, a := range args {
		if strings.ContainsAny(a, " (;'") {
			a = `"` + a + `"`
		}
		out = append(out, a)
	}
	return out
}

// cutShort writes a document with one item of each list and the beginning of
// long texts, in the order it has, and names no folder of this machine.
func cutShort(d *json.Decoder, w *bytes.Buffer, dir string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		w.WriteRune(rune(v))
		for i := 0; d.More(); i++ {
			part := w
			if v == '[' && i > 0 {
				part = new(bytes.Buffer) // dropped
			} else if i > 0 {
				w.WriteByte(',')
			}
			if v == '{' {
				key, err := d.Token()
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%q:", key)
			}
			if err := cutShort(d, part, dir); err != nil {
				return err
			}
		}
		end, err := d.Token()
		if err == nil {
			w.WriteRune(rune(end.(json.Delim)))
		}
		return err
	case string:
		v = strings.ReplaceAll(v, dir, "/home/ann/project")
		v = regexp.MustCompile(`(/[\w.-]+)*/(wexec-tests|demo-server)\b`).ReplaceAllString(v, "/home/ann/$2")
		if strings.HasPrefix(v, "wx_") {
			v = "wx_…" // a token
		}
		if r := []rune(v); len(r) > 72 {
			v = string(r[:70]) + " …"
		}
		token = v
	}
	data, err := json.Marshal(token)
	if err == nil {
		w.Write(data)
	}
	return err
}

// keysOf collects the paths of keys.
func keysOf(v any, at string, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			keysOf(one, at+"[]", into)
		}
	case map[string]any:
		for k, one := range v {
			into[at+"."+k] = true
			keysOf(one, at+"."+k, into)
		}
	}
}
