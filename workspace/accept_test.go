package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

var start = map[string]string{"a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b", "dir/c.txt": "c", "dir/sub/d.txt": "d", "link": "->a.txt", "old/e": "e"}

// edits makes changes of each kind.
func edits(t *testing.T, w *Workspace) {
	w.put(t, "a.txt", "1\nTWO\n3\n4\n5\n")
	must(t, w.Remove("b.txt"))
	must(t, w.Mkdir("b.txt", 0o755))
	w.put(t, "b.txt/inside", "x")
	must(t, w.Rename("dir", "moved", nil))
	must(t, w.Chmod("moved/c.txt", 0o755))
	must(t, w.Remove("old/e"))
	must(t, w.Remove("old"))
	w.put(t, "old", "a file now")
	must(t, w.Remove("link"))
}

func TestAnAcceptedBaseIsWhatTheWorkspaceShowed(t *testing.T) {
	w, base := layered(t, start)
	edits(t, w)
	want := w.shown(t)
	if _, err := w.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, base); !slices.Equal(got, want) {
		t.Errorf("the base has\n%s\nthe workspace showed\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := w.Accept(t.Context()); fault.CodeOf(err) != fault.UsageWorkspace {
		t.Errorf("a second accept: %v", err)
	}
}

func TestAnAcceptThatStopsAtAnyStepIsCompletedByTheNextOpen(t *testing.T) {
	for after := 0; ; after++ {
		w, base := layered(t, start)
		edits(t, w)
		want := w.shown(t)
		stopAfter = func(i int) bool { return i == after }
		_, err := w.Accept(t.Context())
		stopAfter = nil
		if err == nil {
			if after < 5 {
				t.Errorf("the accept has %d steps", after)
			}
			return
		}
		if !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		must(t, w.Close())
		again, err := Open(w.dir, Options{})
		if err != nil {
			t.Fatalf("stopped after step %d: %v", after, err)
		}
		if got := onDisk(t, base); !slices.Equal(got, want) || again.Info().State != Accepted {
			t.Errorf("stopped after step %d, the base has\n%s\nwant\n%s", after, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		_ = again.Close()
	}
}

func TestAnAcceptThatCannotBeCompletedIsUndone(t *testing.T) {
	for after := range 6 {
		w, base := layered(t, start)
		edits(t, w)
		before := onDisk(t, base)
		stopAfter = func(i int) bool { return i == after }
		_, err := w.Accept(t.Context())
		stopAfter = nil
		if !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		must(t, w.Close())
		// Somebody writes where the last step will.
		blocked := filepath.Join(base, "old")
		if info, err := os.Stat(blocked); err == nil && info.IsDir() {
			must(t, os.RemoveAll(blocked))
		}
		must(t, os.WriteFile(blocked, []byte("mine"), 0o644))
		if _, err := Open(w.dir, Options{}); fault.CodeOf(err) != fault.UsageWorkspace {
			t.Fatalf("stopped after step %d: %v", after, err)
		}
		must(t, os.Remove(blocked))
		got := slices.DeleteFunc(onDisk(t, base), func(s string) bool { return strings.HasPrefix(s, "old") })
		want := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return strings.HasPrefix(s, "old") })
		if !slices.Equal(got, want) {
			t.Errorf("stopped after step %d, undone to\n%s\nwant\n%s", after, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestChangesOfBothSidesAreMerged(t *testing.T) {
	w, base := layered(t, start)
	w.put(t, "a.txt", "1\nTWO\n3\n4\n5\n")
	must(t, os.WriteFile(filepath.Join(base, "a.txt"), []byte("1\n2\n3\n4\nFIVE\n"), 0o644))
	if _, err := w.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(base, "a.txt")); string(data) != "1\nTWO\n3\n4\nFIVE\n" {
		t.Errorf("%q", data)
	}
}

func TestPermissionsAndContentOfBothSidesAreMerged(t *testing.T) {
	w, base := layered(t, map[string]string{"a": "\x00a", "b": "b", "dir/c": "c"})
	must(t, w.Chmod("a", 0o755))
	w.put(t, "b", "B")
	must(t, w.Rename("dir", "moved", nil))
	must(t, os.WriteFile(filepath.Join(base, "a"), []byte("\x00new"), 0o644))
	must(t, os.Chmod(filepath.Join(base, "b"), 0o600))
	must(t, os.WriteFile(filepath.Join(base, "dir/c"), []byte("C"), 0o644))
	must(t, os.WriteFile(filepath.Join(base, "dir/d"), []byte("d"), 0o644))
	_, err := w.Accept(t.Context())
	must(t, err)
	want := []string{`a 755 "\x00new"`, `b 600 "B"`, "moved/", `moved/c 644 "C"`, `moved/d 644 "d"`}
	if got := onDisk(t, base); !slices.Equal(got, want) {
		t.Errorf("the base has %s", got)
	}
}

func TestConflictsChangeNothingAndAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		ours   func(t *testing.T, w *Workspace)
		theirs func(base string) error
		path   string
	}{
		"both changed a line": {func(t *testing.T, w *Workspace) { w.put(t, "a.txt", "one\n2\n") },
			func(base string) error {
				return os.WriteFile(filepath.Join(base, "a.txt"), []byte("eins\n2\n"), 0o644)
			}, "a.txt"},
		"both made a file": {func(t *testing.T, w *Workspace) { w.put(t, "new", "x") },
			func(base string) error { return os.WriteFile(filepath.Join(base, "new"), []byte("y"), 0o644) }, "new"},
		"deleted and changed": {func(t *testing.T, w *Workspace) { must(t, w.Remove("b.txt")) },
			func(base string) error {
				return os.WriteFile(filepath.Join(base, "b.txt"), []byte("more"), 0o644)
			}, "b.txt"},
		"deleted in the folder": {func(t *testing.T, w *Workspace) { w.put(t, "b.txt", "more") },
			func(base string) error { return os.Remove(filepath.Join(base, "b.txt")) }, "b.txt"},
		"made in a folder that is deleted": {func(t *testing.T, w *Workspace) { must(t, errors.Join(w.Remove("old/e"), w.Remove("old"))) },
			func(base string) error { return os.WriteFile(filepath.Join(base, "old/new"), []byte("x"), 0o644) }, "old/new"},
		"made with an old time": {func(t *testing.T, w *Workspace) { w.put(t, "new", "x") },
			func(base string) error {
				at := filepath.Join(base, "new")
				return errors.Join(os.WriteFile(at, []byte("y"), 0o644), os.Chtimes(at, time.Unix(0, 0), time.Unix(0, 0)))
			}, "new"},
		"a link": {func(t *testing.T, w *Workspace) { must(t, w.Remove("link")) },
			func(base string) error {
				at := filepath.Join(base, "link")
				return errors.Join(os.Remove(at), os.Symlink("b.txt", at))
			}, "link"},
		"bytes": {func(t *testing.T, w *Workspace) { w.put(t, "b.txt", "\x00a") },
			func(base string) error {
				return os.WriteFile(filepath.Join(base, "b.txt"), []byte("\x00b"), 0o644)
			}, "b.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w, base := layered(t, start)
			w.put(t, "other", "x")
			c.ours(t, w)
			must(t, c.theirs(base))
			before := onDisk(t, base)
			_, err := w.Accept(t.Context())
			conflicts, ok := errors.AsType[*ConflictError](err)
			if !ok || len(conflicts.Conflicts) != 1 || conflicts.Conflicts[0].Path != c.path || fault.CodeOf(err) != fault.UsageWorkspace {
				t.Fatalf("%v", err)
			}
			if got := onDisk(t, base); !slices.Equal(got, before) {
				t.Errorf("the base changed:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestWhatMustNotChangeDoesNot(t *testing.T) {
	w, base := layered(t, map[string]string{".git/config": "g", "sub/.git/config": "g", "a": "a", "out": "->../secret", "abs": "->/etc/passwd"})
	before := onDisk(t, base)
	for _, name := range []string{".git/config", ".git/hooks/post-commit", ".GIT/config", ".git./x", "git~1/x", "sub/.git/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x"} {
		if f, err := w.Open(name, os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			_ = f.Close()
			t.Errorf("%q can be written", name)
		}
	}
	for _, name := range []string{".git", ".git/config", "sub/.git/config"} {
		if w.Remove(name) == nil || w.Rename(name, "x", nil) == nil || w.Rename("a", name+"2/../"+name, nil) == nil {
			t.Errorf("%s can be removed or moved", name)
		}
	}
	if w.Rename("sub", "moved", nil) == nil {
		t.Error("a folder with a repository can be moved")
	}
	for _, name := range []string{"out", "abs", "../secret", "/etc/passwd", "a/../../secret", ""} {
		if _, err := w.text(name); err == nil {
			t.Errorf("%q leads out", name)
		}
	}
	if got := onDisk(t, base); !slices.Equal(got, before) {
		t.Errorf("the base changed:\n%s", got)
	}
}
