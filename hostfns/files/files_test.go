package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// guard is a gate of tests: it grants what is below its folders, but for what
// has "secret" in its name.
type guard struct {
	read, write []string
	limit       int64

	before func() // called by File

	mu    sync.Mutex
	asked []hostfns.FileRequest
	bytes atomic.Int64
	ctx   context.Context
}

func (g *guard) Network(context.Context, hostfns.NetworkRequest) error { return errors.New("no") }
func (g *guard) File(_ context.Context, req hostfns.FileRequest) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if req.Import {
		if strings.Contains(req.Path, "denied") {
			return errors.New("denied")
		}
		return nil
	}
	if !req.Look {
		g.asked = append(g.asked, req)
	}
	if g.before != nil {
		g.before()
	}
	list := g.read
	if req.Write {
		list = g.write
	}
	for _, dir := range list {
		if _, ok := below(dir, filepath.ToSlash(req.Path)); ok && !strings.Contains(strings.ToLower(req.Path), "secret") {
			return nil
		}
	}
	return errors.New("denied")
}
func (g *guard) Count(n int64) error {
	if total := g.bytes.Add(n); g.limit > 0 && total > g.limit {
		return errors.New("over the limit")
	}
	return nil
}
func (g *guard) Arriving(int64) bool                                           { return true }
func (g *guard) HostSecrets(context.Context, string) ([]hostfns.Secret, error) { return nil, nil }
func (g *guard) Permit(context.Context, policy.Feature, json.RawMessage) error {
	return hostfns.ErrNobody
}
func (g *guard) Feature(context.Context, policy.Feature, json.RawMessage) (json.RawMessage, error) {
	return nil, hostfns.ErrNobody
}
func (g *guard) Lifetime() context.Context { return g.ctx }

// world is a folder of the host with a part that is granted and parts that are
// not.
type world struct {
	top, data, out, app string
	guard               *guard
	fs                  sys.FS
	closer              io.Closer
}

func put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{top: top, data: top + "/data", out: top + "/out", app: top + "/app"}
	put(t, top+"/outside.txt", "OUTSIDE")
	put(t, top+"/datax/near.txt", "OUTSIDE")
	put(t, w.data+"/a.txt", "hello")
	put(t, w.data+"/sub/b.txt", "below")
	put(t, w.data+"/.secret", "OUTSIDE")
	put(t, w.out+"/old.txt", "before")
	put(t, w.app+"/main.py", "import lib")
	put(t, w.app+"/lib.py", "x = 1")
	put(t, w.app+"/credentials.json", "OUTSIDE")
	put(t, w.app+"/.hidden.py", "OUTSIDE")
	w.guard = &guard{read: []string{w.data, w.out}, write: []string{w.out}, ctx: t.Context()}
	w.fs, w.closer, err = New().Mount(hostfns.Mount{
		Gate: w.guard, Root: w.app, Dir: w.top, Read: []string{w.data, w.out}, Write: []string{w.out}, Memory: 1 << 20,
		Catalogue: func() fs.FS {
			return catalogue.New([]catalogue.Tool{{Server: "github", Name: "list_commits"}}).Tree(nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.closer.Close() })
	return w
}

// slurp reads a file as a guest does.
func (w *world) slurp(name string) (string, sys.Errno) {
	f, errno := w.fs.OpenFile(name, sys.O_RDONLY, 0)
	if errno != 0 {
		return "", errno
	}
	defer f.Close()
	var out []byte
	buf := make([]byte, 64)
	for {
		n, errno := f.Read(buf)
		if errno != 0 {
			return "", errno
		}
		if n == 0 {
			return string(out), 0
		}
		out = append(out, buf[:n]...)
	}
}

// spit writes a file as a guest does.
func (w *world) spit(name, text string, flag sys.Oflag) sys.Errno {
	f, errno := w.fs.OpenFile(name, flag, 0o600)
	if errno != 0 {
		return errno
	}
	if _, errno := f.Write([]byte(text)); errno != 0 {
		f.Close()
		return errno
	}
	return f.Close()
}

const create = sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC

func TestGrantedFilesAreReadByHostPathAndFromTheWorkingFolder(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]string{
		strings.TrimPrefix(w.data, "/") + "/a.txt": "hello",
		"data/a.txt":        "hello",
		"data/sub/b.txt":    "below",
		"app/lib.py":        "x = 1",
		"data//sub/./b.txt": "below",
	} {
		if got, errno := w.slurp(name); errno != 0 || got != want {
			t.Errorf("%s: %q %v", name, got, errno)
		}
	}
	if got, errno := w.slurp("mcp-servers/github/list_commits.ts"); errno != 0 || !strings.Contains(got, "list_commits") {
		t.Errorf("the tree has %q %v", got, errno)
	}
}

// TestNoPathLeaves is the table of tricks: none gives content from outside,
// none changes anything there.
func TestNoPathLeaves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the right to create links")
	}
	w := newWorld(t)
	link := func(target, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	d := w.data
	link(w.top+"/outside.txt", d+"/abs")
	link("../outside.txt", d+"/up")
	link("sub/../../outside.txt", d+"/upsub")
	link("..", d+"/parent")
	link("/", d+"/rootlink")
	link(".", d+"/self")
	link("loop2", d+"/loop1")
	link("loop1", d+"/loop2")
	link("parent/outside.txt", d+"/through")
	link("../data/../outside.txt", d+"/back")
	link(".secret", d+"/tosecret")
	link("/proc/self/environ", d+"/proc")
	link("/dev/zero", d+"/zero")
	link("../datax/near.txt", d+"/sibling")
	link("../../..", d+"/sub/far")
	link("../../outside.txt", w.app+"/evil.py")
	link("credentials.json", w.app+"/cred.py")
	chain := ""
	for i := range 30 {
		link(fmt.Sprintf("chain%d", i+1), fmt.Sprintf("%s/chain%d", d, i))
		chain = "data/chain0"
	}
	if err := makePipe(d + "/pipe"); err != nil {
		t.Fatal(err)
	}
	sock, err := net.Listen("unix", w.top+"/data/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	abs := strings.TrimPrefix(w.top, "/")

	tricks := []string{
		"../outside.txt", "data/../outside.txt", "data/../../etc/passwd", "data/sub/../../outside.txt", "/../etc/passwd",
		"data/..", "data/./../outside.txt", "..", "../", "./..", "tmp/../" + abs + "/outside.txt", "mcp-servers/../etc/passwd", "app/../outside.txt",
		"outside.txt", abs + "/outside.txt", "etc/passwd", "/etc/passwd", "//etc/passwd", "proc/self/environ", "dev/null", "dev/stdin",
		"data/abs", "data/up", "data/upsub", "data/parent/outside.txt", "data/rootlink/etc/passwd", "data/through", "data/back", "data/proc", "data/zero",
		"data/sibling", "datax/near.txt", "data/sub/far/etc/passwd", "data/self/self/../../outside.txt", "data/self/up",
		"data/loop1", chain, "data/tosecret", "data/.secret", "data/.SECRET", "data/self/.secret",
		"data/pipe", "data/sock", "data/a.txt/x", "data/a.txt/../../outside.txt",
		"data\x00/../outside.txt", "data/a.txt\x00.png", "data\\..\\outside.txt", "data/..\\outside.txt", "..\\outside.txt", "data/\n/x",
		"app/credentials.json", "app/.hidden.py", "app/evil.py", "app/cred.py", "app/../app/credentials.json", "APP/credentials.json",
		"C:/windows/system32", "file:///etc/passwd", "data/%2e%2e/outside.txt", "data/..%2foutside.txt", "data/\u2025/outside.txt", "~/outside.txt",
		strings.Repeat("a/", 200) + "x", strings.Repeat("x", 300), strings.Repeat("data/../", 50) + "outside.txt",
	}
	if len(tricks) < 40 {
		t.Fatalf("only %d tricks", len(tricks))
	}
	for _, name := range tricks {
		if got, errno := w.slurp(name); errno == 0 {
			t.Errorf("reading %q gave %q", name, got)
		}
		for _, flag := range []sys.Oflag{create, sys.O_RDWR, sys.O_WRONLY | sys.O_APPEND, sys.O_RDWR | sys.O_CREAT | sys.O_EXCL} {
			if errno := w.spit(name, "X", flag); errno == 0 {
				t.Errorf("writing %q with %x passed", name, flag)
			}
		}
		for what, errno := range map[string]sys.Errno{
			"mkdir": w.fs.Mkdir(name, 0o755), "unlink": w.fs.Unlink(name), "rmdir": w.fs.Rmdir(name), "utimens": w.fs.Utimens(name, 1, 1),
			"rename from": w.fs.Rename(name, "out/x"), "rename to": w.fs.Rename("out/old.txt", name), "chmod": w.fs.Chmod(name, 0o777),
			"link": w.fs.Link(name, "out/l"), "symlink": w.fs.Symlink(name, "out/l"),
		} {
			if errno == 0 {
				t.Errorf("%s of %q passed", what, name)
			}
		}
		if target, errno := w.fs.Readlink(name); errno == 0 {
			t.Errorf("reading the link %q gave %q", name, target)
		}
	}
	for _, left := range []string{w.top + "/outside.txt", w.top + "/datax/near.txt", d + "/.secret", w.app + "/credentials.json"} {
		if b, err := os.ReadFile(left); err != nil || string(b) != "OUTSIDE" {
			t.Errorf("%s was changed: %q %v", left, b, err)
		}
	}
}

func TestALinkWithinAGrantIsDecidedByWhereItLeads(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("sub/b.txt", w.data+"/fine"); err != nil {
		t.Fatal(err)
	}
	if got, errno := w.slurp("data/fine"); errno != 0 || got != "below" {
		t.Fatal(got, errno)
	}
	last := w.guard.asked[len(w.guard.asked)-1]
	if last.Path != w.data+"/sub/b.txt" || last.Guest != "/data/fine" {
		t.Fatalf("decided on %+v", last)
	}
}

// TestALinkPutInPlaceMeanwhileIsNotFollowed swaps a folder and a file for links
// to the outside while a guest reads and writes.
func TestALinkPutInPlaceMeanwhileIsNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the right to create links")
	}
	w := newWorld(t)
	put(t, w.top+"/elsewhere/b.txt", "OUTSIDE")
	put(t, w.out+"/sub/b.txt", "inside")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(w.out+"/sub", w.out+"/was")
			_ = os.Symlink("../elsewhere", w.out+"/sub")
			_ = os.Remove(w.out + "/sub")
			_ = os.Rename(w.out+"/was", w.out+"/sub")
		}
	}()
	for range 2000 {
		if got, errno := w.slurp("out/sub/b.txt"); errno == 0 && got == "OUTSIDE" {
			t.Error("read through a link that was put in place")
			break
		}
		_ = w.spit("out/sub/b.txt", "inside", create)
	}
	close(stop)
	wg.Wait()
	if b, err := os.ReadFile(w.top + "/elsewhere/b.txt"); err != nil || string(b) != "OUTSIDE" {
		t.Fatalf("written through a link: %q %v", b, err)
	}
}

func TestAFileIsNeverSeenHalfWritten(t *testing.T) {
	w := newWorld(t)
	f, errno := w.fs.OpenFile("out/old.txt", create, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	_, _ = f.Write([]byte("after"))
	if b, _ := os.ReadFile(w.out + "/old.txt"); string(b) != "before" {
		t.Fatalf("seen before it was closed: %q", b)
	}
	if errno := f.Close(); errno != 0 {
		t.Fatal(errno)
	}
	if b, _ := os.ReadFile(w.out + "/old.txt"); string(b) != "after" {
		t.Fatalf("got %q", b)
	}
	g, errno := w.fs.OpenFile("out/old.txt", create, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	_, _ = g.Write([]byte("half"))
	w.closer.Close()
	g.Close()
	if b, _ := os.ReadFile(w.out + "/old.txt"); string(b) != "after" {
		t.Fatalf("a run that ended left %q", b)
	}
	if left, _ := filepath.Glob(w.out + "/.wexec-*"); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestAppendingAndUpdatingKeepWhatWasThere(t *testing.T) {
	w := newWorld(t)
	if errno := w.spit("out/old.txt", "+more", sys.O_WRONLY|sys.O_APPEND); errno != 0 {
		t.Fatal(errno)
	}
	if got, _ := w.slurp("out/old.txt"); got != "before+more" {
		t.Fatalf("got %q", got)
	}
	if errno := w.spit("out/old.txt", "BE", sys.O_RDWR); errno != 0 {
		t.Fatal(errno)
	}
	if got, _ := w.slurp("out/old.txt"); got != "BEfore+more" {
		t.Fatalf("got %q", got)
	}
}

func TestAGrantThatDoesNotExistYetCanBeMade(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(w.out); err != nil {
		t.Fatal(err)
	}
	if errno := w.fs.Mkdir("out", 0o755); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("out/new.txt", "x", create); errno != 0 {
		t.Fatal(errno)
	}
	if got, errno := w.slurp("out/new.txt"); errno != 0 || got != "x" {
		t.Fatal(got, errno)
	}
}

func TestReadOnlyGrantsCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	if errno := w.spit("data/a.txt", "x", create); errno != sys.EACCES {
		t.Error(errno)
	}
	if errno := w.spit("app/lib.py", "x", create); errno != sys.EROFS {
		t.Error(errno)
	}
	if errno := w.spit("mcp-servers/README.md", "x", create); errno != sys.EROFS {
		t.Error(errno)
	}
	if errno := w.fs.Unlink("data/a.txt"); errno != sys.EACCES {
		t.Error(errno)
	}
}

func TestFoldersAreListed(t *testing.T) {
	w := newWorld(t)
	list := func(name string) []string {
		t.Helper()
		f, errno := w.fs.OpenFile(name, sys.O_RDONLY|sys.O_DIRECTORY, 0)
		if errno != 0 {
			t.Fatal(name, errno)
		}
		defer f.Close()
		entries, errno := f.Readdir(-1)
		if errno != 0 {
			t.Fatal(name, errno)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		return names
	}
	for name, want := range map[string][]string{
		"data":                         {".secret", "a.txt", "sub"},
		strings.TrimPrefix(w.top, "/"): {"data", "out"},
		"app":                          {"credentials.json", "lib.py", "main.py"},
		"mcp-servers":                  {"HELPERS.md", "README.md", "github"},
		"tmp":                          nil,
	} {
		if got := list(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	top := list("/")
	for _, name := range []string{"app", "data", "mcp-servers", "out", "tmp"} {
		if !slices.Contains(top, name) {
			t.Errorf("the top lacks %s: %v", name, top)
		}
	}
}

func TestBytesCount(t *testing.T) {
	w := newWorld(t)
	w.guard.limit = 20
	if _, errno := w.slurp("data/a.txt"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("out/x", strings.Repeat("x", 30), create); errno != sys.EIO {
		t.Fatal(errno)
	}
	if got := w.guard.bytes.Load(); got < 35 {
		t.Fatalf("%d bytes were counted", got)
	}
}

func TestABigFilePassesInSlices(t *testing.T) {
	w := newWorld(t)
	const size = 50 << 20
	if err := os.Truncate(w.data+"/a.txt", size); err != nil {
		t.Fatal(err)
	}
	f, errno := w.fs.OpenFile("data/a.txt", sys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	total := 0
	for {
		n, errno := f.Read(buf)
		if errno != 0 {
			t.Fatal(errno)
		}
		if n == 0 {
			break
		}
		total += n
	}
	if total != size || w.guard.bytes.Load() != size {
		t.Fatalf("%d bytes, of which %d were counted", total, w.guard.bytes.Load())
	}
}

func TestEachOpeningIsDecided(t *testing.T) {
	w := newWorld(t)
	_, _ = w.slurp("data/a.txt")
	_, _ = w.slurp("data/.secret")
	_ = w.spit("out/n", "x", create)
	var got []string
	for _, a := range w.guard.asked {
		got = append(got, fmt.Sprintf("%s %v", strings.TrimPrefix(a.Path, w.top), a.Write))
	}
	if want := []string{"/data/a.txt false", "/data/.secret false", "/out/n true"}; !slices.Equal(got, want) {
		t.Fatalf("decided %v", got)
	}
}

func TestNamesThatWindowsReadsOtherwiseAreRefused(t *testing.T) {
	for _, name := range []string{"con", "NUL.txt", "a/aux", "com1", "LPT9.log", "com¹", "a:b", "a.txt::$DATA", "x.", "x ", "PROGRA~1", "a?b", "a|b", "conin$", "a/b:c", `a"b`} {
		if _, errno := plain(name, true); errno == 0 {
			t.Errorf("%q passed", name)
		}
	}
	for _, name := range []string{"C:/data/x.txt", "data/com10.txt", "console.log", "a b/c.d"} {
		if _, errno := plain(name, true); errno != 0 {
			t.Errorf("%q: %v", name, errno)
		}
	}
}

func FuzzPathsStayInside(f *testing.F) {
	for _, s := range []string{"data/a.txt", "../x", "tmp/a", "app/main.py", "data/self/../x", "mcp-servers/", "//", "data/\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, windows := range []bool{false, true} {
			clean, errno := plain(name, windows)
			if errno != 0 {
				continue
			}
			if strings.HasPrefix(clean, "/") || slices.Contains(strings.Split(clean, "/"), "..") || clean != "." && !fs.ValidPath(clean) && strings.ToValidUTF8(clean, "") == clean {
				t.Fatalf("%q became %q", name, clean)
			}
		}
	})
}

func TestProgramsReadTheirSourcesAndPackagesAlone(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app/main.js", "app/data.json", "app/package.json", "app/node_modules/p/package.json", "app/denied.json",
		"app/client_secret.json", "app/Credentials.JSON", "app/.env.json", "app/data.csv", "app/node_modules/p/x.node",
		"packages/p/__init__.py", "packages/p/data.txt", "packages/p/secret.json", "packages/denied.py", "packages/.hidden"} {
		put(t, top+"/"+name, name)
	}
	fsys, closer, err := New().Mount(hostfns.Mount{Gate: &guard{ctx: t.Context()}, Root: top + "/app", Packages: top + "/packages", Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	for name, want := range map[string]bool{
		"app/main.js": true, "app/data.json": true, "app/package.json": true, "app/node_modules/p/package.json": true,
		"app/denied.json": false, "app/client_secret.json": false, "app/Credentials.JSON": false, "app/.env.json": false,
		"app/data.csv": false, "app/node_modules/p/x.node": false,
		"packages/p/__init__.py": true, "packages/p/data.txt": true, "packages/p/secret.json": true,
		"packages/denied.py": false, "packages/.hidden": false, "packages/../app/main.js": false,
	} {
		f, errno := fsys.OpenFile(name, sys.O_RDONLY, 0)
		if (errno == 0) != want {
			t.Errorf("reading %s: errno %v, want it to be read: %v", name, errno, want)
		}
		if errno == 0 {
			f.Close()
		}
		if _, errno := fsys.OpenFile(name, sys.O_RDWR|sys.O_CREAT|sys.O_TRUNC, 0o644); errno == 0 {
			t.Errorf("%s can be written", name)
		}
	}
}
