package files

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func TestTheScratchFolderKeepsFilesForTheRun(t *testing.T) {
	w := newWorld(t)
	if errno := w.fs.Mkdir("tmp/d", 0o700); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("tmp/d/x", "hello", create); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("tmp/d/x", " world", sys.O_WRONLY|sys.O_APPEND); errno != 0 {
		t.Fatal(errno)
	}
	if got, errno := w.slurp("tmp/d/x"); errno != 0 || got != "hello world" {
		t.Fatal(got, errno)
	}
	if errno := w.fs.Rename("tmp/d/x", "tmp/y"); errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := w.slurp("tmp/d/x"); errno != sys.ENOENT {
		t.Fatal(errno)
	}
	if errno := w.fs.Rmdir("tmp/d"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.fs.Rename("tmp/y", "out/y"); errno != sys.ENOTSUP {
		t.Fatal("a file moved out of the scratch folder:", errno)
	}
	w.closer.Close()
	if _, errno := w.slurp("tmp/y"); errno == 0 {
		t.Fatal("the scratch folder outlives its run")
	}
}

func TestTheScratchFolderIsBounded(t *testing.T) {
	w := newWorld(t)
	big := strings.Repeat("x", 1<<19)
	for i, name := range []string{"tmp/a", "tmp/b", "tmp/c"} {
		errno := w.spit(name, big, create)
		if full := i > 0; (errno != 0) != full {
			t.Errorf("%s: %v", name, errno)
		}
	}
	if errno := w.fs.Unlink("tmp/a"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("tmp/c", big, create); errno != 0 {
		t.Fatal("what was removed does not come back:", errno)
	}
	n := 0
	for ; n < 10_000; n++ {
		if w.spit("tmp/n"+strings.Repeat("i", n%200)+string(rune('a'+n%26))+strings.Repeat("j", n/200), "", create) != 0 {
			break
		}
	}
	if n == 10_000 {
		t.Fatal("empty files cost nothing")
	}
}

func TestAnOpenFileWithoutANameStillCounts(t *testing.T) {
	w := newWorld(t)
	big := bytes.Repeat([]byte("x"), 600<<10)
	f, errno := w.fs.OpenFile("tmp/a", create, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := f.Write(big); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.fs.Unlink("tmp/a"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := w.spit("tmp/b", string(big), create); errno == 0 {
		t.Fatal("two files share the room of one")
	}
	f.Close()
	if errno := w.spit("tmp/b", string(big), create); errno != 0 {
		t.Fatal(errno)
	}
}

func TestAHoleInAScratchFileCounts(t *testing.T) {
	w := newWorld(t)
	f, errno := w.fs.OpenFile("tmp/a", create, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	if _, errno := f.Pwrite([]byte("x"), 1<<39); errno == 0 {
		t.Fatal("a hole of 512 GiB passed")
	}
	if errno := f.Truncate(1 << 40); errno == 0 {
		t.Fatal("a file of 1 TiB passed")
	}
	if _, errno := f.Pwrite([]byte("x"), -1); errno != sys.EINVAL {
		t.Fatal(errno)
	}
	if _, errno := f.Seek(-5, 0); errno != sys.EINVAL {
		t.Fatal(errno)
	}
}

func TestAFolderCannotMoveIntoItself(t *testing.T) {
	w := newWorld(t)
	_ = w.fs.Mkdir("tmp/a", 0)
	_ = w.fs.Mkdir("tmp/a/b", 0)
	for _, to := range []string{"tmp/a/b/c", "tmp/a/x"} {
		if errno := w.fs.Rename("tmp/a", to); errno != sys.EINVAL {
			t.Errorf("%s: %v", to, errno)
		}
	}
}
