//go:build unix

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// strange are names that a file system may take for one another, or that a terminal,
// a diff or a list could show as something else.
var strange = []string{
	"Readme", "readme", "README", "caf\u00e9", "cafe\u0301", "stra\u00dfe", "STRASSE", "\u0130", "i\u0307", "a ", "a", "a.", "con", "-rf", "--yes", "$(x)", "a;b",
	"line\nfeed", "tab\there", "quote\"d", "bell\a", "escape\x1b[2J", "delete\x7f", "\u202egnp.exe", "zero\u200bwidth", "both\n\u202e", "a b", "*", "?", "[x]", "#", "~",
	"%2e%2e", "...", strings.Repeat("n", 200),
}

// TestStrangeNamesStayApart writes, moves and deletes files with strange names. The base
// has the same names afterwards, and git makes the same changes from the diff.
func TestStrangeNamesStayApart(t *testing.T) {
	files := map[string]string{}
	for i, name := range strange {
		if i%3 > 0 {
			files[name] = "old " + name
		}
	}
	w, base := layered(t, files)
	if len(onDisk(t, base)) != len(files) {
		t.Skip("needs a file system that keeps all names apart")
	}
	for i, name := range strange {
		switch i % 3 {
		case 0:
			w.put(t, name, "new "+name+"\n")
		case 1:
			must(t, w.Rename(name, name+"_", nil))
		case 2:
			must(t, w.Remove(name))
		}
	}
	want := w.shown(t)
	var diff strings.Builder
	must(t, w.Diff(&diff))
	if _, err := exec.LookPath("git"); err == nil {
		applied := tree(t, t.TempDir(), files)
		git := exec.Command("git", "apply", "-")
		git.Dir, git.Stdin, git.Env = applied, strings.NewReader(diff.String()), append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(applied))
		if out, err := git.CombinedOutput(); err != nil {
			t.Errorf("git apply: %v\n%s", err, out)
		}
		if now := onDisk(t, applied); !slices.Equal(now, want) {
			t.Errorf("git makes\n%q\nthe workspace shows\n%q", now, want)
		}
	}
	_, err := w.Accept(t.Context())
	must(t, err)
	if now := onDisk(t, base); !slices.Equal(now, want) {
		t.Errorf("the base has\n%q\nthe workspace showed\n%q", now, want)
	}
}

// TestNamesThatAreNotTextAreLeftAlone has a name in the base that is not UTF-8. Programs
// cannot open, move or delete it, also not with its folder.
func TestNamesThatAreNotTextAreLeftAlone(t *testing.T) {
	w, base := layered(t, map[string]string{"dir/a": "1"})
	if err := os.WriteFile(filepath.Join(base, "dir", "\xff"), []byte("x"), 0o644); err != nil {
		t.Skip("needs a file system with names that are not UTF-8")
	}
	before := onDisk(t, base)
	if _, err := w.text("dir/\xff"); err == nil {
		t.Error("it can be read")
	}
	if w.Remove("dir/\xff") == nil || w.Rename("dir", "moved", nil) == nil {
		t.Error("it can be moved or deleted")
	}
	must(t, w.Remove("dir/a"))
	if w.Remove("dir") == nil {
		t.Error("its folder can be deleted")
	}
	w.put(t, "dir/a", "1")
	_, err := w.Accept(t.Context())
	must(t, err)
	if now := onDisk(t, base); !slices.Equal(now, before) {
		t.Errorf("the base has %q", now)
	}
}
