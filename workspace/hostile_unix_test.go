//go:build unix

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("WEXEC_TEST_ACCEPT"); dir != "" {
		w, err := Open(dir, Options{})
		if err == nil {
			_, err = w.Accept(context.Background())
		}
		if err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAnAcceptWhoseProcessIsKilledIsCompletedOrNotBegun(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	completed := 0
	for round := range rounds {
		files := map[string]string{}
		for i := range 300 {
			files["d"+strconv.Itoa(i%7)+"/f"+strconv.Itoa(i)] = strings.Repeat("x\n", i)
		}
		w, base := layered(t, files)
		must(t, w.Rename("d0", "moved", nil))
		for name, text := range files {
			if !strings.HasPrefix(name, "d0/") {
				w.put(t, name, text+"more\n")
			}
		}
		before, want := onDisk(t, base), w.shown(t)
		must(t, w.Close())
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "WEXEC_TEST_ACCEPT="+w.dir)
		must(t, child.Start())
		for began := time.Now(); round > 0 && time.Since(began) < time.Minute; { // round 0 is killed at once
			_, err := os.Stat(filepath.Join(w.dir, undoName, strconv.Itoa(round*20)))
			if info, _ := Read(w.dir); err == nil || info.State == Accepted {
				break
			}
		}
		must(t, child.Process.Kill())
		_ = child.Wait()
		again, err := Open(w.dir, Options{})
		must(t, err)
		got, state := onDisk(t, base), again.Info().State
		if state == Active && !slices.Equal(got, before) || state == Accepted && !slices.Equal(got, want) {
			t.Fatalf("round %d: the workspace is %s and the base has\n%s", round, state, strings.Join(got, "\n"))
		}
		if state == Accepted {
			completed++
		}
		must(t, again.Close())
	}
	if completed == 0 {
		t.Error("no accept was completed")
	}
}

func TestAChangeKeepsTheOtherNamesOfAHardLink(t *testing.T) {
	w, base := layered(t, map[string]string{"a": "1"})
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.Link(filepath.Join(base, "a"), other))
	must(t, w.Chmod("a", 0o666))
	w.put(t, "a", "2")
	_, err := w.Accept(t.Context())
	must(t, err)
	info, err := os.Stat(other)
	must(t, err)
	if data, _ := os.ReadFile(other); string(data) != "1" || info.Mode().Perm() != 0o644 {
		t.Errorf("the other name has %q, mode %o", data, info.Mode().Perm())
	}
}

func TestALinkThatReplacesAFolderDuringAnAcceptLeadsNowhere(t *testing.T) {
	for _, inside := range []bool{false, true} { // where the link leads
		w, base := layered(t, map[string]string{"dir/a": "1", "dir/b": "2", "dir/z/c": "3", ".git/a": "g", "first": "0"})
		out := t.TempDir()
		if inside {
			out = filepath.Join(base, ".git")
		}
		for _, name := range []string{"dir/a", "dir/b", "dir/new", "dir/z/c", "first"} {
			w.put(t, name, "changed")
		}
		must(t, w.Remove("dir/b"))
		before := onDisk(t, out)
		stopAfter = func(i int) bool {
			if i == 1 {
				must(t, os.Rename(filepath.Join(base, "dir"), filepath.Join(base, "was")))
				must(t, os.Symlink(out, filepath.Join(base, "dir")))
			}
			return false
		}
		_, err := w.Accept(t.Context())
		stopAfter = nil
		if fault.CodeOf(err) != fault.UsageWorkspace {
			t.Errorf("accept: %v", err)
		}
		if now := onDisk(t, out); !slices.Equal(now, before) {
			t.Errorf("behind the link there is now %s", now)
		}
	}
}

func TestAPipeInTheFolderBlocksNothing(t *testing.T) {
	w, base := layered(t, map[string]string{"a": "1"})
	must(t, syscall.Mkfifo(filepath.Join(base, "pipe"), 0o644))
	if _, err := w.text("pipe"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open a pipe: %v", err)
	}
	if shown := w.shown(t); len(shown) != 1 {
		t.Errorf("%q", shown)
	}
}
