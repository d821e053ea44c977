package policy

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
)

func TestFilesOpenOnlyInsideTheirRoots(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix paths")
	}
	p, err := Parse("/home/ann/proj/policy.yaml", []byte(`
version: 1
files:
  read: [./data/**, ../shared/*.csv, /srv/pub, "~/notes/{a,b}/*.md", "/x/**/y"]
  write: [./out/**]
  deny: ["**/.env*", "**/.git/**", ./data/private]
`))
	if err != nil {
		t.Fatal(err)
	}
	home, err := p.Resolve("/elsewhere", "/home/ann")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		write bool
		want  Effect
	}{
		{"/home/ann/proj/data/a.csv", false, Allow},
		{"/home/ann/proj/data", false, Allow},
		{"/home/ann/proj/data/deep/er/a.csv", false, Allow},
		{"/home/ann/proj/data/a.csv", true, Deny},
		{"/home/ann/proj/database", false, Deny},
		{"/home/ann/proj/DATA/a.csv", false, Deny},
		{"/home/ann/proj", false, Deny},
		{"/home/ann/shared/x.csv", false, Allow},
		{"/home/ann/shared/x/y.csv", false, Deny},
		{"/home/ann/shared/x.txt", false, Deny},
		{"/srv/pub", false, Allow},
		{"/srv/pub/a/b", false, Allow},
		{"/srv/public", false, Deny},
		{"/home/ann/notes/a/x.md", false, Allow},
		{"/home/ann/notes/c/x.md", false, Deny},
		{"/x/y", false, Allow},
		{"/x/1/2/y", false, Allow},
		{"/x/1/2/y/z", false, Deny},
		{"/home/ann/proj/out/r.json", true, Allow},
		{"/home/ann/proj/out/r.json", false, Deny},
		{"/home/ann/proj/data/.env", false, Deny},
		{"/home/ann/proj/data/.ENV.local", false, Deny},
		{"/home/ann/proj/data/.env.d/x", false, Deny},
		{"/home/ann/proj/data/.git/config", false, Deny},
		{"/home/ann/proj/data/.Git", false, Deny},
		{"/home/ann/proj/data/private/x", false, Deny},
		{"/home/ann/proj/data/Private/x", false, Deny},
		{"/srv/pub/.git/x", false, Deny},
		{"/home/ann/proj/data/../policy.yaml", false, Deny},
		{"/home/ann/proj/data/./a.csv", false, Deny},
		{"/home/ann/proj/data//a.csv", false, Deny},
		{"data/a.csv", false, Deny},
		{"/home/ann/proj/data/a\x00b", false, Deny},
		{"", false, Deny},
		{"/", false, Deny},
	} {
		if d := home.DecideFile(FileRequest{Path: c.path, Write: c.write}); d.Effect != c.want {
			t.Errorf("%q write %v: %v by %s: %s", c.path, c.write, d.Effect, d.Rule, d.Message)
		}
	}
	want := Files{
		Read: []Root{{"/home/ann/proj/data", "./data/**"}, {"/home/ann/shared", "../shared/*.csv"}, {"/srv/pub", "/srv/pub"},
			{"/home/ann/notes", "~/notes/{a,b}/*.md"}, {"/x", "/x/**/y"}},
		Write: []Root{{"/home/ann/proj/out", "./out/**"}},
		Deny:  []string{"**/.env*", "**/.git/**", "./data/private"},
	}
	if diff := cmp.Diff(want, home.Files()); diff != "" {
		t.Error(diff)
	}
}

func TestUnresolvedPathsAllowNothingAndDenyEverywhere(t *testing.T) {
	p := parse(t, "version: 1\nfiles: {read: [./data/**, /srv], deny: [./secret]}\n")
	if d := p.DecideFile(FileRequest{Path: "/data/x"}); d.Effect != Deny {
		t.Errorf("%+v", d)
	}
	if d := p.DecideFile(FileRequest{Path: "/srv/a/secret/b"}); d.Effect != Deny || d.Rule != "policy.yaml:2" {
		t.Errorf("%+v", d)
	}
	if d := p.DecideFile(FileRequest{Path: "/srv/a"}); d.Effect != Allow {
		t.Errorf("%+v", d)
	}
	q, err := p.Resolve("/base [1]{x}*", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Effect{"/base [1]{x}*/data/x": Allow, "/base [1]{x}y/data/x": Deny, "/base [1]{x}*/secret": Deny} {
		if d := q.DecideFile(FileRequest{Path: name}); d.Effect != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if q.Digest() == p.Digest() {
		t.Error("where paths begin plays no part in the digest")
	}
	if _, err := parse(t, "version: 1\nfiles: {read: [../../../x]}\n").Resolve("/a", ""); fault.CodeOf(err) != fault.UsagePolicy {
		t.Error(err)
	}
}

func TestFilesOfSeveralLayersTighten(t *testing.T) {
	user := parse(t, "version: 1\nfiles: {read: [/srv/**, /opt/**], deny: [\"**/key\"]}\n")
	project := parse(t, "version: 1\nfiles: {read: [/srv/app/**, /etc/**], write: [/srv/app/out]}\n")
	f := flags(t, Flags{AllowRead: []string{"/etc"}, AllowWrite: []string{"/srv"}})
	p := Layer(Layered{user, User}, Layered{project, Project}, Layered{f, FromCLI})
	for name, want := range map[string]Effect{"/srv/app/x": Allow, "/srv/x": Deny, "/etc/passwd": Deny, "/srv/app/key": Deny} {
		if d := p.DecideFile(FileRequest{Path: name}); d.Effect != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := p.DecideFile(FileRequest{Path: "/srv/app/out/x", Write: true}); d.Effect != Deny {
		t.Errorf("a project writes where the user lets nobody: %+v", d)
	}
	alone := Layer(Layered{f, FromCLI})
	if alone.DecideFile(FileRequest{Path: "/etc/passwd"}).Effect != Allow || alone.DecideFile(FileRequest{Path: "/etc/passwd", Write: true}).Effect != Deny {
		t.Error("only flags")
	}
}

func TestImportsNeedNoGrantAndCanBeDenied(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix paths")
	}
	p, err := Parse("/proj/policy.yaml", []byte("version: 1\nfiles:\n  deny: [\"**/private/**\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var none *Policy
	for _, c := range []struct {
		policy *Policy
		path   string
		want   Effect
	}{{p, "/proj/lib.js", Allow}, {p, "/proj/private/lib.js", Deny}, {none, "/proj/lib.js", Allow}} {
		if d := c.policy.DecideFile(FileRequest{Path: c.path, Import: true}); d.Effect != c.want {
			t.Errorf("%s: %v, %s", c.path, d.Effect, d.Message)
		}
	}
}
