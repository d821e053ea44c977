package files

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// TestThePolicyDecidesByWhereAPathLeads runs the whole gate: patterns, denials
// in any case of letters, links, and the record.
func TestThePolicyDecidesByWhereAPathLeads(t *testing.T) {
	w := newWorld(t)
	put(t, w.data+"/.env", "OUTSIDE")
	put(t, w.data+"/sub/.ENV.local", "OUTSIDE")
	put(t, w.data+"/sub/.git/config", "OUTSIDE")
	put(t, w.data+"/table.csv", "a,b")
	_ = os.Symlink(".env", w.data+"/fine.csv")
	_ = os.Symlink("sub/.git", w.data+"/tree")
	p, err := policy.Parse("policy.yaml", fmt.Appendf(nil, "version: 1\nfiles:\n  read: [%q, %q]\n  write: [%q]\n  deny: ['**/.env*', '**/.git/**']\n",
		w.data+"/**", w.out+"/**", w.out+"/*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var sink audit.Memory
	table, err := hostfns.NewTable(p, &sink, New())
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(t.Context(), hostfns.RunInfo{ID: "r", Dir: w.top})
	if err != nil {
		t.Fatal(err)
	}
	if w.fs, err = r.FS(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]sys.Errno{
		"data/table.csv": 0, "data/.env": sys.EACCES, "data/sub/.ENV.local": sys.EACCES, "data/sub/.git/config": sys.EACCES, "data/fine.csv": sys.EACCES,
		"data/tree/config": sys.EACCES, "data/self/../.env": sys.EACCES, "out/old.txt": 0, "data/none": sys.ENOENT, "app/main.py": sys.EACCES,
	} {
		if got, errno := w.slurp(name); errno != want || got == "OUTSIDE" {
			t.Errorf("%s: %q %v", name, got, errno)
		}
	}
	for name, want := range map[string]sys.Errno{"out/new.txt": 0, "out/new.sh": sys.EACCES, "out/sub/x.txt": sys.ENOENT, "data/table.csv": sys.EACCES, "out/.env.txt": sys.EACCES} {
		if errno := w.spit(name, "x", create); errno != want {
			t.Errorf("writing %s: %v", name, errno)
		}
	}
	if errno := w.fs.Rename("out/new.txt", "out/run.sh"); errno != sys.EACCES {
		t.Error("a file took a name that may not be written:", errno)
	}
	if _, errno := w.fs.Stat("data/.env"); errno != sys.EACCES {
		t.Error("a denied file can be inspected: ", errno)
	}
	var got []string
	if errno := w.fs.Unlink("out/new.txt"); errno != 0 {
		t.Error(errno)
	}
	for _, e := range sink.Events() {
		if d := e.Decision; d != nil && d.Kind == "file" {
			got = append(got, d.Effect+" "+strings.ReplaceAll(d.Target, w.top, ""))
		}
	}
	for _, want := range []string{"allow read /data/table.csv", "deny read /data/.env", "allow write /out/new.txt", "deny write /out/new.sh"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if s := r.Summary(); s.Cacheable != 0 {
		t.Error("a run that read files may be kept")
	}
	if _, err := r.Close(t.Context(), audit.End{Status: "ok"}); err != nil {
		t.Fatal(err)
	}
	if _, errno := w.slurp("data/table.csv"); errno == 0 {
		t.Error("files outlive their run")
	}
}

// TestTheProgramsFolderFollowsThePolicyBeyondItsSources has a program in the
// folder that the policy grants parts of.
func TestTheProgramsFolderFollowsThePolicyBeyondItsSources(t *testing.T) {
	w := newWorld(t)
	put(t, w.top+"/main.js", "x")
	p, err := policy.Parse("policy.yaml", fmt.Appendf(nil, "version: 1\nfiles:\n  read: [%q]\n  write: [%q]\n", w.data+"/**", w.out+"/**"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), New())
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(t.Context(), hostfns.RunInfo{ID: "r", Root: w.top})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(t.Context(), audit.End{Status: "ok"}) }()
	if w.fs, err = r.FS(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]sys.Errno{"app/main.js": 0, "app/data/a.txt": 0, "app/outside.txt": sys.EACCES, "app/data/.secret": 0, "app/out/old.txt": sys.EACCES} {
		if got, errno := w.slurp(name); errno != want || (want == 0 && got == "") {
			t.Errorf("%s: %q %v", name, got, errno)
		}
	}
	for name, want := range map[string]sys.Errno{"app/out/new.txt": 0, "app/main.js": sys.EROFS, "app/outside.txt": sys.EROFS, "app/data/a.txt": sys.EROFS} {
		if errno := w.spit(name, "x", create); errno != want {
			t.Errorf("writing %s: %v", name, errno)
		}
	}
}

func TestAReplayHasAScratchFolderAndNoFileOfTheHost(t *testing.T) {
	w := newWorld(t)
	rec := audit.Recording{Run: "x", Decisions: []audit.Decision{{Kind: "file", Target: "read " + w.data + "/a.txt", Effect: "allow"}}}
	table, err := hostfns.Recorded(rec, New())
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(t.Context(), hostfns.RunInfo{ID: "again"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(t.Context(), audit.End{Status: "ok"}) }()
	if w.fs, err = r.FS(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data/a.txt", strings.TrimPrefix(w.data, "/") + "/a.txt"} {
		if got, errno := w.slurp(name); errno == 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if errno := w.spit("data/a.txt", "x", create); errno == 0 {
		t.Error("a file of the host was written")
	}
	if errno := w.spit("tmp/x", "x", create); errno != 0 {
		t.Error(errno)
	}
}

// TestAPersonIsAskedForWhatNoGrantContains checks that a person is asked by the path
// to which links lead, before the program learns anything of it, and that only this
// path is opened.
func TestAPersonIsAskedForWhatNoGrantContains(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the right to create links")
	}
	w := newWorld(t)
	put(t, w.top+"/never/x", "OUTSIDE")
	var err error
	w.fs, w.closer, err = New(w.top + "/never").Mount(hostfns.Mount{Gate: w.guard, Dir: w.top, Read: []string{w.data}, Ask: true, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer w.closer.Close()
	_ = os.Symlink(w.top+"/datax/near.txt", w.top+"/link.txt")
	_ = os.Symlink("never/x", w.top+"/shield.txt")
	asked := func(do func()) []string {
		before := len(w.guard.asked)
		do()
		var out []string
		for _, r := range w.guard.asked[before:] {
			out = append(out, fmt.Sprintf("%s %t", strings.TrimPrefix(r.Path, w.top), r.Write))
		}
		return out
	}
	for _, c := range []struct {
		name string
		do   func(name string) sys.Errno
		want []string
	}{
		{"outside.txt", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, []string{"/outside.txt false"}},
		{"missing.txt", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, []string{"/missing.txt false"}},
		{"no/such/folder.txt", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, []string{"/no/such/folder.txt false"}},
		{"link.txt", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, []string{"/datax/near.txt false"}},
		{"new.txt", func(name string) sys.Errno { return w.spit(name, "x", create) }, []string{"/new.txt true"}},
		{"outside.txt", func(name string) sys.Errno { return w.spit(name, "x", sys.O_RDWR) }, []string{"/outside.txt false"}},
		{"link.txt", func(name string) sys.Errno { return w.fs.Unlink(name) }, []string{"/link.txt true"}},
		{"outside.txt", func(name string) sys.Errno { _, errno := w.fs.Stat(name); return errno }, nil},
		{"new", func(name string) sys.Errno { return w.fs.Mkdir(name, 0o755) }, nil},
		{"never/x", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, nil},
		{"shield.txt", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, nil},
		{"<string>", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, nil},
		{"dev/null", func(name string) sys.Errno { _, errno := w.slurp(name); return errno }, nil},
	} {
		var errno sys.Errno
		if got := asked(func() { errno = c.do(c.name) }); !slices.Equal(got, c.want) || errno != sys.EACCES {
			t.Errorf("%s: asked %q, want %q; %v", c.name, got, c.want, errno)
		}
	}
	w.guard.read = append(w.guard.read, w.top)
	if got, errno := w.slurp("link.txt"); errno != 0 || got != "OUTSIDE" {
		t.Errorf("what a person allowed is not read: %q %v", got, errno)
	}
	if got, errno := w.slurp("no/such/folder.txt"); errno != sys.ENOENT {
		t.Errorf("a missing file: %q %v", got, errno)
	}
	// While the person thinks, a link replaces the file.
	w.guard.before = func() {
		_ = os.Remove(w.top + "/outside.txt")
		_ = os.Symlink("datax/near.txt", w.top+"/outside.txt")
	}
	if got, errno := w.slurp("outside.txt"); errno != sys.EACCES {
		t.Errorf("a link was followed: %q %v", got, errno)
	}
}
