package ownfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// private returns a folder that passes, however the machine's temporary folder
// and umask are set.
func private(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir = filepath.Join(dir, "private")
	must(t, Dir(dir))
	return dir
}

// chown gives a file to another user.
func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file to another user")
	}
	if err := os.Lchown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func wantRefused(t *testing.T, err error, path, why string) {
	t.Helper()
	var own *Error
	if !errors.As(err, &own) || own.Path != path || !strings.Contains(own.Why, why) || own.Do == "" {
		t.Errorf("error is %v, want %s: %s", err, path, why)
	}
}

func TestDirCreatesAPrivateFolder(t *testing.T) {
	top := private(t)
	dir := filepath.Join(top, "a", "b")
	must(t, Dir(dir))
	for _, d := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(d)
		must(t, err)
		if info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s has mode %v", d, info.Mode())
		}
	}
	must(t, Dir(dir))
}

func TestDirRefusesWhatOthersCanChange(t *testing.T) {
	for _, mode := range []os.FileMode{0o770, 0o702, 0o777, os.ModeSticky | 0o777} {
		top := private(t)
		dir := filepath.Join(top, "cache")
		must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, mode))
		wantRefused(t, Dir(dir), dir, "other users can write to it")
		err := Dir(filepath.Join(dir, "code"))
		if mode&os.ModeSticky != 0 { // others cannot replace a folder in it that is ours
			must(t, err)
			continue
		}
		wantRefused(t, err, dir, "other users can write to it")
		if _, err := os.Lstat(filepath.Join(dir, "code")); !os.IsNotExist(err) {
			t.Errorf("a folder was created below one that others can write to: %v", err)
		}
	}
}

func TestDirRefusesAFolderOfAnotherUser(t *testing.T) {
	dir := filepath.Join(private(t), "cache")
	must(t, os.Mkdir(dir, 0o700))
	chown(t, dir)
	for _, path := range []string{dir, filepath.Join(dir, "below")} {
		wantRefused(t, Dir(path), dir, "it belongs to user 65534")
	}
}

func TestDirRefusesALinkOfAnotherUser(t *testing.T) {
	top := private(t)
	real, link := filepath.Join(top, "real"), filepath.Join(top, "link")
	must(t, os.Mkdir(real, 0o700), os.Symlink("real", link))
	for _, path := range []string{link, filepath.Join(link, "code")} {
		must(t, Dir(path))
	}
	if _, err := os.Lstat(filepath.Join(real, "code")); err != nil {
		t.Error(err)
	}
	must(t, os.Symlink("loop", filepath.Join(top, "loop")))
	wantRefused(t, Dir(filepath.Join(top, "loop")), filepath.Join(top, "loop"), "does not end")
	open := filepath.Join(top, "open")
	must(t, os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(open, filepath.Join(top, "out")))
	wantRefused(t, Dir(filepath.Join(top, "out")), open, "other users can write to it")
	chown(t, link)
	wantRefused(t, Dir(link), link, "it belongs to user 65534")
}

func TestOpenRefusesWhatOthersCanHaveWritten(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		why    string
	}{
		"group":   {func(t *testing.T, path string) { must(t, os.Chmod(path, 0o620)) }, "other users can write to it"},
		"others":  {func(t *testing.T, path string) { must(t, os.Chmod(path, 0o602)) }, "other users can write to it"},
		"foreign": {chown, "it belongs to user 65534"},
		"link": {func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, "it is a symbolic link"},
		"hard link":         {func(t *testing.T, path string) { must(t, os.Link(path, path+".other")) }, "it has 2 names"},
		"foreign hard link": {func(t *testing.T, path string) { must(t, os.Link(path, path+".other")); chown(t, path) }, "it belongs to user 65534"},
		"folder":            {func(t *testing.T, path string) { must(t, os.Remove(path), os.Mkdir(path, 0o700)) }, "it is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(private(t), "entry")
			must(t, os.WriteFile(path, []byte("entry"), 0o600))
			if data, err := Read(path, 5); err != nil || string(data) != "entry" {
				t.Fatalf("got %q, %v", data, err)
			}
			c.change(t, path)
			data, err := Read(path, 5)
			wantRefused(t, err, path, c.why)
			if data != nil {
				t.Errorf("got %q", data)
			}
		})
	}
}

func TestSubFollowsNoLink(t *testing.T) {
	top := private(t)
	must(t, Sub(filepath.Join(top, "new")), os.Symlink("new", filepath.Join(top, "link")), os.Mkdir(filepath.Join(top, "open"), 0o700),
		os.Chmod(filepath.Join(top, "open"), os.ModeSticky|0o777))
	wantRefused(t, Sub(filepath.Join(top, "link")), filepath.Join(top, "link"), "it is not a folder")
	wantRefused(t, Sub(filepath.Join(top, "open")), filepath.Join(top, "open"), "other users can write to it")
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(private(t), "entry")
	must(t, os.WriteFile(path, make([]byte, 11), 0o600))
	if _, err := Read(path, 10); err == nil {
		t.Error("a file larger than allowed was read")
	}
}

func BenchmarkDir(b *testing.B) {
	dir := filepath.Join(private(b), "a", "b", "c", "d")
	for b.Loop() {
		if err := Dir(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadPrivateRefusesWhatOthersCanRead(t *testing.T) {
	path := filepath.Join(private(t), "key")
	must(t, os.WriteFile(path, []byte("key"), 0o600), os.Link(path, path+".other"))
	if data, err := ReadPrivate(path, 3); err != nil || string(data) != "key" {
		t.Fatalf("got %q, %v", data, err)
	}
	if _, err := ReadPrivate(path, 2); err == nil {
		t.Error("a file larger than allowed was read")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o610} {
		must(t, os.Chmod(path, mode))
		_, err := ReadPrivate(path, 3)
		wantRefused(t, err, path, "other users can read or write it")
	}
	must(t, os.Chmod(path, 0o600), os.Symlink(path, path+".link"))
	_, err := ReadPrivate(path+".link", 3)
	wantRefused(t, err, path+".link", "it is a symbolic link")
	chown(t, path)
	_, err = ReadPrivate(path, 3)
	wantRefused(t, err, path, "it belongs to user 65534")
}
