package workspaces

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/workspace"
)

// lab is a run with a workspace over a folder.
type lab struct {
	t    testing.TB
	base string
	w    *workspace.Workspace
	run  *hostfns.Run
	sink *audit.Memory
	fs   sys.FS
}

// newLab makes a run. BASE in the rules is the folder.
func newLab(t testing.TB, rules string, limits policy.Limits, content map[string]string) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range content {
		at := filepath.Join(base, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if target, ok := strings.CutPrefix(text, "->"); ok {
			must(t, os.Symlink(target, at))
			continue
		}
		must(t, os.WriteFile(at, []byte(text), 0o644))
	}
	l := &lab{t: t, base: base, sink: &audit.Memory{}}
	never, err := files.Never(base, filepath.Join(base, "wexec.yaml"))
	must(t, err)
	l.w, err = workspace.Create(filepath.Join(t.TempDir(), "w"), workspace.Info{ID: "w", Base: base}, workspace.Options{Never: never})
	must(t, err)
	var p *policy.Policy
	if rules != "" {
		p, err = policy.Parse("policy.yaml", []byte("version: 1\npii: {mode: off}\n"+strings.ReplaceAll(rules, "BASE", base)))
		must(t, err)
	}
	table, err := hostfns.NewTable(p, l.sink, files.New())
	must(t, err)
	l.run, err = table.Open(t.Context(), hostfns.RunInfo{ID: "r", Limits: limits, Workspace: New(l.w)})
	must(t, err)
	l.fs, err = l.run.FS()
	must(t, err)
	t.Cleanup(func() {
		_, _ = l.run.Close(context.Background(), audit.End{Status: "ok"})
		_ = table.Close()
		_ = l.w.Close()
	})
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call makes a call of the prelude.
func (l *lab) call(name string, args, out any) error {
	l.t.Helper()
	given, err := json.Marshal(args)
	must(l.t, err)
	answer, err := l.run.Call(l.t.Context(), "wexec:"+name, given)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.Data, out)
}

func (l *lab) files(glob string) []string {
	l.t.Helper()
	var out []string
	must(l.t, l.call("search_files", map[string]any{"glob": glob}, &out))
	for i, name := range out {
		out[i] = strings.TrimPrefix(name, "/workspace/")
	}
	return out
}

func (l *lab) read(name string) (string, sys.Errno) {
	f, errno := l.fs.OpenFile(name, sys.O_RDONLY, 0)
	if errno != 0 {
		return "", errno
	}
	defer f.Close()
	b := make([]byte, 1000)
	n, errno := f.Read(b)
	return string(b[:n]), errno
}

func (l *lab) write(name, text string) sys.Errno {
	f, errno := l.fs.OpenFile(name, sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC, 0o644)
	if errno != 0 {
		return errno
	}
	_, errno = f.Write([]byte(text))
	if closed := f.Close(); errno == 0 {
		errno = closed
	}
	return errno
}

var project = map[string]string{
	"README.md": "# Title\nTODO: write\n", "src/a.py": "x = 1  # TODO: name\n", "src/deep/b.py": "y = 2\n", "src/c.js": "// todo\n",
	".git/config": "TODO", "wexec.yaml": "TODO", "in": "->README.md", "out": "->/etc/passwd", "up": "->../x", "bytes": "\x00TODO\n",
}

func TestGlobsMatchAsProgramsExpect(t *testing.T) {
	l := newLab(t, "", policy.Limits{}, project)
	for glob, want := range map[string][]string{
		"*.py":                   {"src/a.py", "src/deep/b.py"},
		"src/*.py":               {"src/a.py"},
		"src/**/*.py":            {"src/a.py", "src/deep/b.py"},
		"**":                     {"README.md", "bytes", "src/a.py", "src/c.js", "src/deep/b.py"},
		"src/[ab].py":            {"src/a.py"},
		"src/[!b].*":             {"src/a.py", "src/c.js"},
		"**/*.{js,md}":           {"README.md", "src/c.js"},
		"/workspace/src/deep/**": {"src/deep/b.py"},
		"?.py":                   {"src/a.py", "src/deep/b.py"},
		"none.*":                 {},
	} {
		if got := l.files(glob); !slices.Equal(got, want) {
			t.Errorf("%s matches %q, want %q", glob, got, want)
		}
	}
	for _, glob := range []string{"{a,b", strings.Repeat("a", 2000)} {
		if err := l.call("search_files", map[string]any{"glob": glob}, new(any)); fault.CodeOf(err) != fault.ToolInvalidArgs {
			t.Errorf("%.20s: %v", glob, err)
		}
	}
}

func TestContentIsFoundWithItsContext(t *testing.T) {
	l := newLab(t, "", policy.Limits{}, map[string]string{"a": "1\n2\n3 x\n4\n5\n", "b": "x\r\n", "long": strings.Repeat("y", 40<<10) + "x\n"})
	var got []line
	must(t, l.call("search_content", map[string]any{"pattern": "x$", "context": 1}, &got))
	for i := range got {
		got[i].Text = got[i].Text[:min(len(got[i].Text), 5)]
	}
	want := []line{{File: "/workspace/a", Line: 3, Text: "3 x", Before: []string{"2"}, After: []string{"4"}}, {File: "/workspace/b", Line: 1, Text: "x"}, {File: "/workspace/long", Line: 1, Text: "yyyyy"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %+v", got)
	}
}

func TestASearchThatCostsTooMuchIsRefused(t *testing.T) {
	many := strings.Repeat("x\n", maxFound+1)
	l := newLab(t, "", policy.Limits{}, map[string]string{"a": many})
	for pattern, want := range map[string]fault.Code{
		"x": fault.ToolTooLarge, "(": fault.ToolInvalidArgs, "": fault.ToolInvalidArgs, "(?:x{999}y{999})": fault.ToolInvalidArgs, strings.Repeat("x", 1001): fault.ToolInvalidArgs,
	} {
		if err := l.call("search_content", map[string]any{"pattern": pattern}, new(any)); fault.CodeOf(err) != want {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
	l = newLab(t, "", policy.Limits{HostBytes: 10_000}, map[string]string{"a": many})
	if err := l.call("search_content", map[string]any{"pattern": "y"}, new(any)); fault.CodeOf(err) != fault.LimitHostBytes {
		t.Errorf("a search that reads more than the run may: %v", err)
	}
}

// TestRulesNarrowAWorkspace tries each way to what a rule denies.
func TestRulesNarrowAWorkspace(t *testing.T) {
	l := newLab(t, "files: {deny: [BASE/secret/**, BASE/key]}\n", policy.Limits{},
		map[string]string{"secret/a": "SECRET", "key": "SECRET", "open/b": "fine", "link": "->secret/a", "folder": "->secret", "open/key": "fine"})
	for _, name := range []string{"secret/a", "key", "link", "folder/a", "open/../key"} {
		if text, errno := l.read("/workspace/" + name); errno == 0 {
			t.Errorf("%s can be read: %q", name, text)
		}
	}
	for _, name := range []string{"secret/new", "key", "folder/new"} {
		if errno := l.write("/workspace/"+name, "x"); errno == 0 {
			t.Errorf("%s can be written", name)
		}
	}
	for from, to := range map[string]string{"secret": "moved", "secret/a": "b", "key": "k", "open/b": "secret/b", "open": "secret/open"} {
		if errno := l.fs.Rename("/workspace/"+from, "/workspace/"+to); errno == 0 {
			t.Errorf("%s can be moved to %s", from, to)
		}
	}
	if got := l.files("**"); !slices.Equal(got, []string{"open/b", "open/key"}) {
		t.Errorf("a search finds %q", got)
	}
	var found []line
	must(t, l.call("search_content", map[string]any{"pattern": "SECRET"}, &found))
	if len(found) > 0 {
		t.Errorf("a search finds %+v", found)
	}
	if text, errno := l.read("/workspace/open/b"); text != "fine" || errno != 0 {
		t.Errorf("what no rule denies: %q, %v", text, errno)
	}
}

func TestNothingLeadsOutOfAWorkspace(t *testing.T) {
	l := newLab(t, "", policy.Limits{}, project)
	outside := filepath.Join(filepath.Dir(l.base), "x")
	must(t, os.WriteFile(outside, []byte("OUTSIDE"), 0o644))
	for _, name := range []string{"out", "up", "../x", "src/../../x", "in/../../x"} {
		if text, errno := l.read("/workspace/" + name); errno == 0 {
			t.Errorf("%s can be read: %q", name, text)
		}
		if errno := l.write("/workspace/"+name, "x"); errno == 0 {
			t.Errorf("%s can be written", name)
		}
	}
	for _, name := range []string{"/etc/passwd", outside, l.base + "/README.md"} {
		if text, errno := l.read(name); errno == 0 {
			t.Errorf("%s can be read: %q", name, text)
		}
	}
	for _, name := range []string{".git/config", ".git/hooks/x", ".GIT/x", ".Git/config", "git~1/x", ".git /x", ".git./x", ".g\u200cit/x", ".gi\u200dt/x", "src/.git/x", "wexec.yaml", ".wexec-x"} {
		if errno := l.write("/workspace/"+name, "x"); errno == 0 {
			t.Errorf("%q can be written", name)
		}
		if errno := l.fs.Mkdir("/workspace/"+name+"2/../"+name, 0o755); errno == 0 {
			t.Errorf("%q can be made", name)
		}
		if errno := l.fs.Rename("/workspace/README.md", "/workspace/"+name); errno == 0 {
			t.Errorf("README.md can be moved to %q", name)
		}
	}
	if l.fs.Symlink("/etc/passwd", "/workspace/l") == 0 || l.fs.Link("/workspace/README.md", "/workspace/l") == 0 || l.fs.Link("/etc/passwd", "/workspace/l") == 0 {
		t.Error("a link can be made")
	}
	if _, errno := l.read("/workspace/wexec.yaml"); errno == 0 {
		t.Error("wexec.yaml can be read")
	}
	if target, errno := l.fs.Readlink("/workspace/out"); target != "/etc/passwd" || errno != 0 {
		t.Errorf("the link is %q, %v", target, errno)
	}
	if text, errno := l.read("/workspace/in"); text != project["README.md"] || errno != 0 {
		t.Errorf("a link within: %q, %v", text, errno)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "OUTSIDE" {
		t.Errorf("outside is now %q", data)
	}
}

func TestEachAccessIsRecordedAndCounted(t *testing.T) {
	l := newLab(t, "", policy.Limits{HostBytes: 5000}, project)
	if _, errno := l.read("/workspace/README.md"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := l.write("/workspace/new", "x"); errno != 0 {
		t.Fatal(errno)
	}
	var targets []string
	for _, e := range l.sink.Events() {
		if e.Decision != nil && e.Decision.Kind == "file" {
			targets = append(targets, fmt.Sprint(e.Decision.Target, " ", e.Decision.Effect, " ", e.Decision.Writes))
		}
	}
	want := []string{"read " + l.base + "/README.md allow false", "write " + l.base + "/new allow true"}
	if !slices.Equal(targets, want) {
		t.Errorf("the record has %q", targets)
	}
	f, errno := l.fs.OpenFile("/workspace/big", sys.O_WRONLY|sys.O_CREAT, 0o644)
	if errno != 0 {
		t.Fatal(errno)
	}
	if errno = f.Truncate(6000); errno == 0 || l.run.Err() == nil {
		t.Errorf("a sparse file is not counted: %v, %v", errno, l.run.Err())
	}
	_ = f.Close()
}

func TestSubmitTellsWhatDidNotChange(t *testing.T) {
	l := newLab(t, "", policy.Limits{}, project)
	if errno := l.write("/workspace/src/a.py", "x = 2\n"); errno != 0 {
		t.Fatal(errno)
	}
	var got submitted
	must(t, l.call("submit_result", submission{"renamed x", []string{"/workspace/src/a.py", "src/a.py", "src/c.js"}}, &got))
	if got.Changed != 1 || !slices.Equal(got.Missing, []string{"src/c.js"}) || l.w.Info().Summary != "renamed x" {
		t.Errorf("%+v, summary %q", got, l.w.Info().Summary)
	}
	if err := l.call("submit_result", submission{Summary: strings.Repeat("x", 20_000)}, &got); fault.CodeOf(err) != fault.ToolInvalidArgs {
		t.Errorf("a long summary: %v", err)
	}
	id, changed, err := New(l.w).Used("run 1")
	if id != "w" || changed != 1 || err != nil || l.w.Info().Run != "run 1" {
		t.Errorf("used: %s, %d, %v", id, changed, err)
	}
}

func TestARunWithoutAWorkspaceSaysSo(t *testing.T) {
	table, err := hostfns.NewTable(nil, audit.None(), files.New())
	must(t, err)
	defer table.Close()
	run, err := table.Open(t.Context(), hostfns.RunInfo{ID: "r"})
	must(t, err)
	defer run.Close(context.Background(), audit.End{Status: "ok"})
	_, err = run.Call(t.Context(), "wexec:search_files", []byte(`{"glob": "*"}`))
	if fault.CodeOf(err) != fault.ToolUnknown || !strings.Contains(err.Error(), "needs a workspace") {
		t.Errorf("%v", err)
	}
	tree, err := run.FS()
	must(t, err)
	if _, errno := tree.Stat("/workspace"); errno == 0 {
		t.Error("there is a /workspace")
	}
}

// TestManyFilesAreListedWithoutReadingThem lists 100,000 files that cannot be read.
func TestManyFilesAreListedWithoutReadingThem(t *testing.T) {
	if testing.Short() {
		t.Skip("short: makes 100,000 files")
	}
	l := newLab(t, "", policy.Limits{}, nil)
	for i := range 100 {
		dir := filepath.Join(l.base, fmt.Sprint("d", i))
		must(t, os.Mkdir(dir, 0o755))
		for j := range 989 {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", j)), nil, 0))
		}
	}
	if got := l.files("**/f988"); len(got) != 100 {
		t.Errorf("%d files", len(got))
	}
	changes, err := l.w.Changes(t.Context())
	if err != nil || len(changes) > 0 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
	if errno := l.fs.Rename("/workspace/d1", "/workspace/moved"); errno != 0 {
		t.Error(errno)
	}
	if _, err := fs.Stat(os.DirFS(l.base), "d1/f1"); err != nil {
		t.Error("the folder changed")
	}
}
