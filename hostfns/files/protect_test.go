package files

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/hostfns"
)

// mountAll grants everything of the host, apart from the protected paths.
func mountAll(t *testing.T, grant string, protected ...string) *world {
	t.Helper()
	w := &world{guard: &guard{read: []string{grant}, write: []string{grant}, ctx: t.Context()}}
	var err error
	w.fs, w.closer, err = New(protected...).Mount(hostfns.Mount{Gate: w.guard, Read: []string{grant}, Write: []string{grant}, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.closer.Close() })
	return w
}

func TestProtectedFilesAreOutOfReachWhateverIsGranted(t *testing.T) {
	top := newWorld(t).top
	put(t, top+"/policy.yaml", "deny")
	put(t, top+"/audit/1.jsonl", "record")
	put(t, top+"/free.txt", "free")
	for from, to := range map[string]string{"policy.yaml": "hard.txt", "audit/1.jsonl": "other.txt"} {
		if err := os.Link(top+"/"+from, top+"/"+to); err != nil {
			t.Skipf("needs hard links: %v", err)
		}
	}
	protected := []string{top + "/policy.yaml", top + "/audit", top + "/not/yet.yaml"}
	guest := strings.TrimPrefix(top, "/")
	for _, grant := range []string{top, "/"} {
		w := mountAll(t, grant, protected...)
		for _, name := range []string{"policy.yaml", "hard.txt", "audit/1.jsonl", "audit", "audit/new", "not/yet.yaml"} {
			if got, errno := w.slurp(guest + "/" + name); errno == 0 {
				t.Errorf("%s is read: %q", name, got)
			}
			if errno := w.spit(guest+"/"+name, "x", create); errno == 0 {
				t.Errorf("%s is written", name)
			}
			if errno := w.fs.Unlink(guest + "/" + name); errno == 0 {
				t.Errorf("%s is removed", name)
			}
			if errno := w.fs.Rename(guest+"/free.txt", guest+"/"+name); errno == 0 {
				t.Errorf("%s is replaced", name)
			}
			if errno := w.fs.Rename(guest+"/"+name, guest+"/moved"); errno == 0 {
				t.Errorf("%s is moved away", name)
			}
		}
		if got, errno := w.slurp(guest + "/free.txt"); errno != 0 || got != "free" {
			t.Errorf("a file that is not protected: %q %v", got, errno)
		}
	}
	below := mountAll(t, top+"/audit", protected...)
	if _, errno := below.slurp(guest + "/audit/1.jsonl"); errno == 0 {
		t.Error("a grant inside a protected folder reaches it")
	}
}

func TestTheKernelsFilesAreOutOfReach(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/PID/mem")
	}
	for _, grant := range []string{"/", "/proc", "/proc/self", "/sys", "/dev"} {
		w := mountAll(t, grant)
		for _, name := range []string{"proc/self/mem", "proc/self/environ", "proc/self/maps", "proc/self/cwd/go.mod", "proc/self", "sys/kernel/notes", "dev/null", "dev/shm/x"} {
			f, errno := w.fs.OpenFile(name, sys.O_RDONLY, 0)
			if errno == 0 {
				t.Errorf("granted %s, %s is open", grant, name)
				f.Close()
			}
		}
	}
}
