package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func TestOneProcessUsesAWorkspaceAtATime(t *testing.T) {
	w, _ := layered(t, start)
	if _, err := Open(w.dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second open: %v", err)
	}
	if err := Discard(w.dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a discard: %v", err)
	}
	must(t, w.Close())
	again, err := Open(w.dir, Options{})
	must(t, err)
	must(t, again.Close())
}

func TestARejectedWorkspaceChangesNothingAndIsEmpty(t *testing.T) {
	w, base := layered(t, start)
	before := onDisk(t, base)
	edits(t, w)
	must(t, w.Reject())
	if now := onDisk(t, base); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("the base changed: %s", now)
	}
	if _, err := w.Open("a.txt", os.O_RDONLY, 0); fault.CodeOf(err) != fault.UsageWorkspace {
		t.Errorf("open a file of a rejected workspace: %v", err)
	}
	must(t, w.Close())
	left, err := os.ReadDir(w.dir)
	must(t, err)
	if len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
	again, err := Open(w.dir, Options{})
	must(t, err)
	if again.Info().State != Rejected {
		t.Errorf("it is %s", again.Info().State)
	}
	must(t, again.Close())
}

func TestLimitsOfFilesHold(t *testing.T) {
	w, base := layered(t, map[string]string{"a": "1"})
	large, err := os.Create(filepath.Join(base, "large"))
	must(t, err)
	must(t, errors.Join(large.Truncate(MaxFile+1), large.Close()))
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC} {
		if f, err := w.Open("large", flag, 0); !errors.Is(err, ErrTooLarge) {
			t.Errorf("open with %#x: %v", flag, err)
			_ = f.Close()
		}
	}
	if err := w.Rename("large", "moved", nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("move: %v", err)
	}
	f, err := w.Open("a", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), MaxFile); !errors.Is(err, ErrTooLarge) {
		t.Errorf("write past the limit: %v", err)
	}
	if err := f.Truncate(MaxFile + 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("truncate past the limit: %v", err)
	}
	w.bytes = maxBytes - 10
	if _, err := f.WriteAt([]byte(strings.Repeat("x", 20)), 1); !errors.Is(err, ErrFull) {
		t.Errorf("write to a full workspace: %v", err)
	}
	w.bytes = 0
	must(t, w.Remove("large"))
	var diff strings.Builder
	must(t, w.Diff(&diff))
	if !strings.Contains(diff.String(), "Binary files a/large and /dev/null differ") {
		t.Errorf("the diff is\n%s", diff.String())
	}
	_, err = w.Accept(t.Context())
	must(t, err)
}

func TestContentThatIsGoneFreesItsSpace(t *testing.T) {
	w, _ := layered(t, map[string]string{})
	for range 100 {
		w.put(t, "x", strings.Repeat("y", 1000))
		must(t, w.Rename("x", "y", nil))
		w.put(t, "y", "short")
		must(t, w.Remove("y"))
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, contentName)); err != nil || len(left) != 0 || w.bytes != 0 {
		t.Errorf("%d files and %d bytes are left", len(left), w.bytes)
	}
}

func TestWhatIsOutOfReachIsNeitherReadNorMoved(t *testing.T) {
	base := tree(t, t.TempDir(), map[string]string{"dir/key": "secret", "a": "1", "other/f": "2"})
	never := func(name string, _ fs.FileInfo) bool { return name == "dir/key" || name == "new/f" }
	w, err := Create(filepath.Join(t.TempDir(), "w"), Info{ID: "w", Base: base}, Options{Never: never})
	must(t, err)
	defer w.Close()
	if _, err := w.text("dir/key"); err == nil {
		t.Error("it can be read")
	}
	for from, to := range map[string]string{"dir/key": "x", "dir": "y", "a": "dir/key", "other": "new"} {
		if w.Rename(from, to, nil) == nil {
			t.Errorf("%s can be moved to %s", from, to)
		}
	}
	if f, err := w.Open("dir/key", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
		_ = f.Close()
		t.Error("it can be written")
	}
}

// TestAFolderThatWasTamperedWithLeadsNowhere puts links into the folder of a workspace, and
// writes a plan into it.
func TestAFolderThatWasTamperedWithLeadsNowhere(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	w, base := layered(t, map[string]string{"a": "1", "b": "2", ".git/config": "g"})
	w.put(t, "a", "changed")
	w.put(t, "new", "new")
	before := onDisk(t, base)
	content, err := os.ReadDir(filepath.Join(w.dir, contentName))
	must(t, err)
	for _, c := range content {
		at := filepath.Join(w.dir, contentName, c.Name())
		must(t, os.Remove(at))
		if err := os.Symlink(secret, at); err != nil {
			t.Skip("needs links")
		}
	}
	for _, name := range []string{"a", "new"} {
		if text, err := w.text(name); err == nil {
			t.Errorf("%s has %q", name, text)
		}
		if f, err := w.Open(name, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_ = f.Close()
			t.Errorf("%s can be written", name)
		}
	}
	var diff strings.Builder
	if err := w.Diff(&diff); err == nil || strings.Contains(diff.String(), "secret") {
		t.Errorf("the diff is %q", diff.String())
	}
	if _, err := w.Accept(t.Context()); err == nil {
		t.Error("it can be accepted")
	}
	must(t, w.Close())
	for _, plan := range []string{
		`[{"do":"file","path":"b","content":"../../../secret","before":"file d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35 644","after":"x"}]`,
		`[{"do":"file","path":".git/hooks/x","content":"1","before":"nothing","after":"x"}]`,
		`[{"do":"link","path":"../out","target":"x","before":"nothing","after":"x"}]`,
		`[{"do":"remove","path":".git/config","before":"file x 644","after":"nothing"}]`,
	} {
		must(t, os.WriteFile(filepath.Join(w.dir, planName), []byte(plan), 0o600))
		if again, err := Open(w.dir, Options{}); err == nil {
			_ = again.Close()
			t.Errorf("the plan is carried out: %s", plan)
		}
	}
	if now := onDisk(t, base); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("the base has %s", now)
	}
	if data, _ := os.ReadFile(secret); string(data) != "secret" {
		t.Errorf("outside there is %q", data)
	}
}

// FuzzTheLog opens a workspace whose log has been tampered with, uses it and accepts it.
func FuzzTheLog(f *testing.F) {
	f.Add(`{"op":"put","path":"a","kind":"file","content":"1"}` + "\n" + `{"op":"move","path":"a","to":"b/c","kind":"file","content":"1"}`)
	f.Add(`{"op":"put","path":"a","kind":"link","target":"../.."}` + "\n" + `{"op":"drop","path":"dir/x"}`)
	f.Add(`{"op":"put","path":"a","kind":"file","lower":"../secret"}`)
	f.Add(`{"op":"put","path":"a","kind":"file","content":"../../secret"}`)
	f.Add(`{"op":"was","path":"a.txt","state":"file x y","content":"1"}` + "\n" + `{"op":"put","path":".git/x","kind":"folder"}`)
	f.Add(`{"op":"move","path":"dir","to":"dir/x","kind":"folder","lower":"dir"}`)
	f.Fuzz(func(t *testing.T, log string) {
		top := t.TempDir()
		base := tree(t, filepath.Join(top, "base"), start)
		must(t, os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600))
		must(t, os.Mkdir(filepath.Join(base, ".git"), 0o755))
		dir := filepath.Join(top, "w")
		w, err := Create(dir, Info{ID: "w", Base: base}, Options{})
		must(t, err)
		must(t, w.Close())
		must(t, os.WriteFile(filepath.Join(dir, logName), []byte(log+"\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, contentName, "1"), []byte("one"), 0o600))
		if w, err = Open(dir, Options{}); err != nil {
			return
		}
		defer w.Close()
		for _, name := range []string{"a", "b/c", "dir/x", "a.txt"} {
			if text, err := w.text(name); err == nil && strings.Contains(text, "secret") {
				t.Fatalf("%s has what is outside", name)
			}
		}
		_, _ = w.Changes(t.Context())
		_, _ = w.Accept(t.Context())
		if left, _ := os.ReadDir(filepath.Join(base, ".git")); len(left) > 0 {
			t.Fatal("version control changed")
		}
		if outside, _ := os.ReadDir(top); len(outside) != 3 {
			t.Fatalf("outside of the base there is now %v", outside)
		}
	})
}
