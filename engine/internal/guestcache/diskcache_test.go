package guestcache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestADiskCacheStaysWithinItsBytesAndKeepsWhatIsUsed(t *testing.T) {
	c := &DiskCache{Dir: t.TempDir(), Magic: "test 1\n", Max: 64 << 10, MaxEntry: 16 << 10}
	entry := bytes.Repeat([]byte("x"), 3000) // one block each
	if err := c.Put("used", entry); err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		long := time.Now().Add(-time.Hour)
		key := fmt.Sprint("entry", n)
		if err := c.Put(key, entry); err != nil {
			t.Fatal(err)
		}
		_ = os.Chtimes(c.path(key), long, long)
		if _, ok := c.Get("used"); !ok {
			t.Fatalf("what is used was forgotten after %d more", n)
		}
	}
	list, err := os.ReadDir(c.Dir)
	if err != nil || len(list) > 16+2 { // two more may come between two sweeps
		t.Errorf("%d entries, %v", len(list), err)
	}
}

func TestADamagedEntryIsAMiss(t *testing.T) {
	c := &DiskCache{Dir: t.TempDir(), Magic: "test 1\n", Max: 64 << 10, MaxEntry: 16 << 10}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { b[len(b)-1]++; return b },
		"foreign": func(b []byte) []byte { return append([]byte("test 2\n"), b[7:]...) },
		"empty":   func([]byte) []byte { return nil },
		"large":   func(b []byte) []byte { return append(b, make([]byte, 17<<10)...) },
	} {
		if err := c.Put(name, []byte("whole")); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get(name); !ok || string(got) != "whole" {
			t.Fatalf("got %q", got)
		}
		data, err := os.ReadFile(c.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(name), damage(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get(name); ok {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if err := c.Put("huge", make([]byte, 20<<10)); err != nil {
		t.Errorf("what is too large is left out: %v", err)
	}
	if _, ok := c.Get("huge"); ok {
		t.Error("an entry larger than allowed was kept")
	}
}

func TestWhatAnOlderVersionLeftIsRemovedWhenCodeIsWritten(t *testing.T) {
	dir, native := filledFolder(t)
	long := time.Now().Add(-2 * unusedAfter)
	older := filepath.Join(filepath.Dir(native), "0000")
	olderImage := filepath.Join(dir, "images", "quickjs-0000")
	note := filepath.Join(dir, "code", "quickjs-0000-amd64.json")
	code := string(make([]byte, maxSmallCode+1))
	for file, text := range map[string]string{older: code, olderImage: "memory",
		note: `{"file":"` + filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(native)), "0000")) + `","size":1048577}`} {
		mustWrite(t, file, []byte(text))
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(native, long, long); err != nil {
		t.Fatal(err)
	}
	if !throughStub(t, dir) { // uses the old native code
		t.Error("the stub is not used")
	}
	if _, err := os.Lstat(older); err != nil {
		t.Fatalf("removed by a run that wrote nothing: %v", err)
	}
	(&Store{dir: dir}).removeUnused()
	for _, file := range []string{older, olderImage, note} {
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("%s still exists: %v", filepath.Base(file), err)
		}
	}
	if _, err := os.Lstat(native); err != nil {
		t.Errorf("code that was just used is gone: %v", err)
	}
}
