package guestcache

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/ownfile"
)

// plants make a file one that another user can have written.
var plants = map[string]func(path string) error{
	"others may write": func(path string) error { return os.Chmod(path, 0o666) },
	"a link": func(path string) error {
		aside := path + ".aside"
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		return os.Symlink(aside, path)
	},
	"two names":       func(path string) error { return os.Link(path, path+".other") },
	"of another user": func(path string) error { return os.Chown(path, 65534, 65534) },
}

func needsModes(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
}

// TestNothingOfAnotherUserIsUsed changes every file of a folder, and checks that
// each is made again instead of being used.
func TestNothingOfAnotherUserIsUsed(t *testing.T) {
	needsModes(t)
	for name, plant := range plants {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			if name == "of another user" && os.Geteuid() != 0 {
				t.Skip("needs root, to give a file to another user")
			}
			dir, native := filledFolder(t)
			var all []string
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					all = append(all, path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range all {
				if err := plant(file); err != nil {
					t.Fatal(err)
				}
			}
			if !throughStub(t, dir) {
				t.Error("the stub is no longer used")
			}
			if len(all) < 4 { // native code, its note, image, stub
				t.Errorf("the folder has only %q", all)
			}
			for _, file := range append(all, native) {
				f, err := ownfile.Open(file)
				if err != nil {
					t.Errorf("the planted file is still there: %v", err)
					continue
				}
				_ = f.Close()
			}
		})
	}
}

func TestAnEntryOfAnotherUserIsAMiss(t *testing.T) {
	needsModes(t)
	for name, plant := range plants {
		c := &DiskCache{Dir: t.TempDir(), Magic: "test 1\n", Max: 64 << 10, MaxEntry: 16 << 10}
		if err := c.Put("key", []byte("value")); err != nil {
			t.Fatal(err)
		}
		if err := plant(c.path("key")); err != nil {
			if os.Geteuid() == 0 {
				t.Fatal(err)
			}
			continue // cannot give the file away
		}
		if got, ok := c.Get("key"); ok {
			t.Errorf("%s: got %q", name, got)
		}
		if err := c.Put("key", []byte("again")); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get("key"); !ok || string(got) != "again" {
			t.Errorf("%s: the entry cannot be replaced: %q", name, got)
		}
	}
}

func TestAFolderThatOthersCanChangeIsRefused(t *testing.T) {
	needsModes(t)
	for name, open := range map[string]func(dir string) error{
		"the folder":         func(dir string) error { return os.Chmod(dir, 0o770) },
		"a folder in it":     func(dir string) error { return os.Chmod(filepath.Join(dir, "results"), 0o777) },
		"the folder above":   func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
		"a link in it":       func(dir string) error { return replaceByLink(filepath.Join(dir, "code")) },
		"a file in its name": func(dir string) error { return replaceByFile(filepath.Join(dir, "images")) },
	} {
		dir := filepath.Join(t.TempDir(), "cache")
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := open(dir); err != nil {
			t.Fatal(err)
		}
		_, err = Open(dir)
		if fault.CodeOf(err) != fault.UsageConfig || !strings.Contains(err.Error(), filepath.Dir(dir)) || fault.HintOf(err) == "" {
			t.Errorf("%s: error is %v, hint %q", name, err, fault.HintOf(err))
		}
	}
}

func replaceByLink(dir string) error {
	if err := os.Rename(dir, dir+"2"); err != nil {
		return err
	}
	return os.Symlink(dir+"2", dir)
}

func replaceByFile(dir string) error {
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.WriteFile(dir, nil, 0o600)
}
