package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFileIsTheImage(t *testing.T) {
	modes(t, func(t *testing.T, mode Mode) {
		_, image := split(t)
		path := filepath.Join(t.TempDir(), "image")
		if err := WriteFile(path, image); err != nil {
			t.Fatal(err)
		}
		im, err := OpenFile(path, sha256.Sum256(image), mode)
		if err != nil {
			t.Fatal(err)
		}
		defer im.Close()
		m := im.Memory(0).Allocate(im.Size(), 1<<32)
		defer m.Free()
		got := m.Reallocate(im.Size())
		if !bytes.Equal(got, image) {
			t.Error("the memory is not the image")
		}
		got[0]++
		// Another file in its place does not reach those that are open.
		if err := WriteFile(path, make([]byte, pageSize)); err != nil {
			t.Fatal(err)
		}
		second := im.Memory(0).Allocate(im.Size(), 1<<32)
		defer second.Free()
		if !bytes.Equal(second.Reallocate(im.Size()), image) {
			t.Error("the image changed under its users")
		}
	})
}

func TestStaleFilesAreRefused(t *testing.T) {
	_, image := split(t)
	digest := sha256.Sum256(image)
	change := func(name string, f func(path string) error, want error) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")
			if err := WriteFile(path, image); err != nil {
				t.Fatal(err)
			}
			if err := f(path); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenFile(path, digest, Auto); !errors.Is(err, want) {
				t.Errorf("%v", err)
			}
		})
	}
	change("gone", os.Remove, fs.ErrNotExist)
	change("another image", func(p string) error { return WriteFile(p, make([]byte, pageSize)) }, ErrStale)
	change("cut", func(p string) error { return os.Truncate(p, int64(len(image))) }, ErrStale)
	change("empty", func(p string) error { return os.Truncate(p, 0) }, ErrStale)
	change("longer", func(p string) error { return os.Truncate(p, 1<<20) }, ErrStale)
	change("a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, ErrStale)
	if runtime.GOOS != "windows" {
		change("others may write", func(p string) error { return os.Chmod(p, 0o622) }, ErrStale)
		change("a link", func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }, ErrStale)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "image")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, make([]byte, pageSize)); err == nil {
		t.Error("written over a folder")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := WriteFile(filepath.Join(dir, "missing", "image"), nil); err == nil {
		t.Error("written into nowhere")
	}
}
