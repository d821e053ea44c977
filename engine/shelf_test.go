package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAShelfStaysWithinItsBytesAndKeepsWhatIsUsed(t *testing.T) {
	s := &shelf{dir: t.TempDir(), magic: "test 1\n", most: 64 << 10, each: 16 << 10}
	thing := bytes.Repeat([]byte("x"), 3000) // one block each
	if err := s.write("dear", thing); err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		long := time.Now().Add(-time.Hour)
		key := fmt.Sprint("thing", n)
		if err := s.write(key, thing); err != nil {
			t.Fatal(err)
		}
		_ = os.Chtimes(s.path(key), long, long)
		if _, ok := s.read("dear"); !ok {
			t.Fatalf("what is used was forgotten after %d more", n)
		}
	}
	list, err := os.ReadDir(s.dir)
	if err != nil || len(list) > 16+2 { // two more may come between two sweeps
		t.Errorf("%d things, %v", len(list), err)
	}
}

func TestAShelfTakesDamageForAMiss(t *testing.T) {
	s := &shelf{dir: t.TempDir(), magic: "test 1\n", most: 64 << 10, each: 16 << 10}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { b[len(b)-1]++; return b },
		"foreign": func(b []byte) []byte { return append([]byte("test 2\n"), b[7:]...) },
		"empty":   func([]byte) []byte { return nil },
		"large":   func(b []byte) []byte { return append(b, make([]byte, 17<<10)...) },
	} {
		if err := s.write(name, []byte("whole")); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.read(name); !ok || string(got) != "whole" {
			t.Fatalf("got %q", got)
		}
		data, err := os.ReadFile(s.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.path(name), damage(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.read(name); ok {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if err := s.write("huge", make([]byte, 20<<10)); err != nil {
		t.Errorf("what is too large is left out: %v", err)
	}
	if _, ok := s.read("huge"); ok {
		t.Error("a thing larger than allowed was kept")
	}
}

func TestWhatAnOlderVersionLeftGoesWhenSomethingNewIsLaid(t *testing.T) {
	dir := t.TempDir()
	first := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, first, "v 1")
	wantValue(t, res, err, "1")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(first.cache.bonesPath(m))
	if err != nil {
		t.Skip("there is no native code here")
	}
	var b bones
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	native := filepath.Join(dir, "code", b.File)
	long := time.Now().Add(-2 * unusedAfter)
	older := filepath.Join(filepath.Dir(native), "0000")
	olderImage := filepath.Join(dir, "images", "quickjs-0000")
	note := filepath.Join(dir, "code", "quickjs-0000-amd64.json")
	code := string(make([]byte, smallCode+1))
	for file, text := range map[string]string{older: code, olderImage: "memory",
		note: `{"file":"` + filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(native)), "0000")) + `","size":1048577}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(native, long, long); err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Cache: dir})
	res, err = tiny(t, e, "v 1") // uses the old native code
	wantValue(t, res, err, "1")
	if _, err := os.Lstat(older); err != nil {
		t.Fatalf("removed by a run that laid nothing: %v", err)
	}
	e.cache.dropUnused()
	for _, file := range []string{older, olderImage, note} {
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", filepath.Base(file), err)
		}
	}
	if _, err := os.Lstat(native); err != nil {
		t.Errorf("what was used a moment ago went: %v", err)
	}
}
