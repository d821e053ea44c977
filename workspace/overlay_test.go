package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files in a folder. A name that ends with / is a folder, and content
// that begins with -> makes a link.
func tree(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			must(t, os.Symlink(target, at))
			continue
		}
		must(t, os.WriteFile(at, []byte(content), 0o644))
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// layered makes a workspace over a folder with files.
func layered(t testing.TB, files map[string]string) (w *Workspace, base string) {
	t.Helper()
	base = tree(t, t.TempDir(), files)
	w, err := Create(filepath.Join(t.TempDir(), "w"), Info{ID: "w", Base: base}, Options{})
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w, base
}

// put writes a file of a workspace.
func (w *Workspace) put(t testing.TB, name, content string) {
	t.Helper()
	f, err := w.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	must(t, err)
	_, err = f.Write([]byte(content))
	must(t, errors.Join(err, f.Close()))
}

func (w *Workspace) text(name string) (string, error) {
	f, err := w.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// shown returns what a workspace shows: the files with their content and permissions.
func (w *Workspace) shown(t testing.TB) []string {
	t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := w.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.IsDir():
				out = append(out, name+"/")
				walk(name)
			case e.Mode()&fs.ModeSymlink != 0:
				target, err := w.ReadLink(name)
				must(t, err)
				out = append(out, name+" -> "+target)
			default:
				text, err := w.text(name)
				must(t, err)
				out = append(out, fmt.Sprintf("%s %o %q", name, e.Mode().Perm(), text))
			}
		}
	}
	walk(".")
	slices.Sort(out)
	return out
}

// onDisk returns what a folder has, in the form of shown.
func onDisk(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, at)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case name == ".":
		case e.IsDir():
			out = append(out, name+"/")
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			must(t, err)
			out = append(out, name+" -> "+target)
		default:
			info, err := e.Info()
			must(t, err)
			text, err := os.ReadFile(at)
			must(t, err)
			out = append(out, fmt.Sprintf("%s %o %q", name, info.Mode().Perm(), text))
		}
		return nil
	}))
	slices.Sort(out)
	return out
}

func TestTheBaseShowsThroughAndDoesNotChange(t *testing.T) {
	files := map[string]string{"a.txt": "a", "dir/b.txt": "b", "dir/sub/c.txt": "c", "link": "->dir/b.txt"}
	w, base := layered(t, files)
	before := onDisk(t, base)
	if shown := w.shown(t); !slices.Equal(shown, before) {
		t.Errorf("an empty layer shows\n%s\nthe base has\n%s", shown, before)
	}
	w.put(t, "a.txt", "changed")
	w.put(t, "dir/new.txt", "new")
	w.put(t, "link", "by the link")
	must(t, w.Remove("dir/sub/c.txt"))
	must(t, w.Remove("dir/sub"))
	must(t, w.Rename("dir", "moved", nil))
	must(t, w.Mkdir("dir", 0o755))
	want := []string{`a.txt 644 "changed"`, "dir/", "link -> dir/b.txt", `moved/b.txt 644 "by the link"`, "moved/", `moved/new.txt 644 "new"`}
	slices.Sort(want)
	if shown := w.shown(t); !slices.Equal(shown, want) {
		t.Errorf("the workspace shows\n%s", strings.Join(shown, "\n"))
	}
	if now := onDisk(t, base); !slices.Equal(now, before) {
		t.Errorf("the base changed: %s", now)
	}
}

func TestAWorkspaceOpenedAgainIsTheSame(t *testing.T) {
	w, _ := layered(t, map[string]string{"a/b/c": "1", "a/d": "2"})
	must(t, w.Rename("a", "x", nil))
	w.put(t, "x/b/c", "3")
	must(t, w.Mkdir("a", 0o755))
	must(t, w.Rename("x/d", "a/e", nil))
	want := w.shown(t)
	must(t, w.Close())
	log, err := os.OpenFile(filepath.Join(w.dir, logName), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = log.WriteString(`{"op":"put","path":"half`) // of a process that died
	must(t, errors.Join(err, log.Close()))
	again, err := Open(w.dir, Options{})
	must(t, err)
	defer again.Close()
	if got := again.shown(t); !slices.Equal(got, want) {
		t.Errorf("after it is opened again\n%s\nbefore\n%s", got, want)
	}
}
