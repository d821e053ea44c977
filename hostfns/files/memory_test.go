package files

import (
	"bytes"
	"fmt"
	"io"
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

func TestAFileOfTheScratchFolderHasTheTimesThatWereSet(t *testing.T) {
	w := newWorld(t)
	if errno := w.spit("tmp/x", "hello", create); errno != 0 {
		t.Fatal(errno)
	}
	for _, set := range []struct{ atim, mtim, wantAtim, wantMtim int64 }{
		{1, 2, 1, 2}, {sys.UTIME_OMIT, 3, 1, 3}, {4, sys.UTIME_OMIT, 4, 3}, {-5, -6, -5, -6},
	} {
		if errno := w.fs.Utimens("tmp/x", set.atim, set.mtim); errno != 0 {
			t.Fatal(errno)
		}
		if s, errno := w.fs.Stat("tmp/x"); errno != 0 || s.Atim != set.wantAtim || s.Mtim != set.wantMtim {
			t.Errorf("after %d and %d the times are %d and %d: %v", set.atim, set.mtim, s.Atim, s.Mtim, errno)
		}
	}
}

func TestALinkIsReadOfWhatExists(t *testing.T) {
	w := newWorld(t)
	if errno := w.spit("tmp/x", "hello", create); errno != 0 {
		t.Fatal(errno)
	}
	for name, want := range map[string]sys.Errno{"tmp/x": sys.EINVAL, "tmp/missing": sys.ENOENT, "tmp": sys.EINVAL} {
		if _, errno := w.fs.Readlink(name); errno != want {
			t.Errorf("the link %s: %v, not %v", name, errno, want)
		}
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

func TestMemoryOfATruncatedFileIsReleased(t *testing.T) {
	m := newMemory(64<<20, nil, nil)
	for i := range 100 {
		f, errno := m.OpenFile(fmt.Sprint(i), create, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		if errno := f.Truncate(30 << 20); errno != 0 {
			t.Fatal(errno)
		}
		if errno := f.Truncate(1); errno != 0 {
			t.Fatal(errno)
		}
	}
	kept := 0
	for _, n := range m.root.children {
		kept += cap(n.data)
	}
	if kept > 1<<20 {
		t.Errorf("100 files of one byte keep %d bytes", kept)
	}
}

func TestZerosThatAFileIsExtendedWithCountAsWritten(t *testing.T) {
	for name, extend := range map[string]func(sys.File) sys.Errno{
		"truncate": func(f sys.File) sys.Errno { return f.Truncate(1 << 19) },
		"pwrite":   func(f sys.File) sys.Errno { _, errno := f.Pwrite([]byte("x"), 1<<19); return errno },
	} {
		for _, path := range []string{"tmp/a", "out/a"} {
			w := newWorld(t)
			f, errno := w.fs.OpenFile(path, create, 0)
			if errno != 0 {
				t.Fatal(errno)
			}
			before := w.guard.bytes.Load()
			if errno := extend(f); errno != 0 {
				t.Fatal(errno)
			}
			if got := w.guard.bytes.Load() - before; got < 1<<19 || got > 1<<19+1 {
				t.Errorf("%s of %s: %d bytes counted", name, path, got)
			}
			f.Close()
		}
	}
}

func TestASeekPastTheEndMakesNoFreeHole(t *testing.T) {
	w := newWorld(t)
	w.guard.limit = 1 << 20
	f, errno := w.fs.OpenFile("out/a", create, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	if _, errno := f.Seek(1<<42, io.SeekStart); errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := f.Write([]byte("x")); errno == 0 {
		t.Error("a sparse file of 4 TiB was written")
	}
}

func TestDescriptorsAreBounded(t *testing.T) {
	w := newWorld(t)
	var files []sys.File
	for range 2 * maxDescriptors {
		f, errno := w.fs.OpenFile("tmp", sys.O_RDONLY, 0)
		if errno != 0 {
			break
		}
		files = append(files, f)
	}
	if len(files) > maxDescriptors {
		t.Errorf("%d descriptors are open", len(files))
	}
	for _, f := range files {
		f.Close()
		f.Close() // gives nothing back twice
	}
	f, errno := w.fs.OpenFile("tmp", sys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal("closed descriptors do not come back:", errno)
	}
	f.Close()
	if _, errno := w.slurp("data/a.txt"); errno != 0 {
		t.Fatal(errno)
	}
}

func TestListingsThatAreHeldOpenCount(t *testing.T) {
	w := newWorld(t) // 1 MiB
	for i := range 1000 {
		put(t, fmt.Sprintf("%s/many/%04d-%s", w.data, i, strings.Repeat("x", 100)), "")
	}
	open := 0
	for ; open < 100; open++ {
		if _, errno := w.fs.OpenFile("data/many", sys.O_RDONLY, 0); errno != 0 {
			break
		}
	}
	if open == 0 || open > 10 {
		t.Errorf("%d listings of 1,000 names are open at once under 1 MiB", open)
	}
	if w.guard.bytes.Load() < int64(open)*100_000 {
		t.Error("the names do not count as read")
	}
}
