package guestcache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/tools/tinyguest"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// This test pins what wazero does not document: native code of a module is
// found, and works, under the name of the module's stub.
func TestALaterStoreLoadsTheStub(t *testing.T) {
	dir, native := filledFolder(t)
	before, err := os.Stat(native)
	if err != nil {
		t.Fatal(err)
	}
	if before.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", before.Mode())
	}
	if !throughStub(t, dir) {
		t.Error("the whole module was loaded")
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	whole, stub := newSet(t, openStore(t, ""), m), newSet(t, openStore(t, dir), m)
	defer closeAll(t, whole)
	defer closeAll(t, stub)
	for _, code := range []string{"v 1", "l 100000", "m 3", "x", "R", "q 3", "o text\nr"} {
		a, b := run(t, whole, code), run(t, stub, code)
		if (a.Fault == nil) != (b.Fault == nil) || a.Fault != nil && a.Fault.Error() != b.Fault.Error() ||
			!bytes.Equal(a.Outcome.Data, b.Outcome.Data) || a.Fuel != b.Fuel || a.MemoryPeak != b.MemoryPeak {
			t.Errorf("%s: %+v, through the stub %+v", code, a, b)
		}
	}
}

func TestMissingNativeCodeIsCompiledAgain(t *testing.T) {
	dir, native := filledFolder(t)
	if err := os.Remove(native); err != nil {
		t.Fatal(err)
	}
	first, second := throughStub(t, dir), throughStub(t, dir)
	if !first || !second {
		t.Error("the stub is no longer used")
	}
}

func TestDamagedNativeCodeIsCompiledAgain(t *testing.T) {
	dir, native := filledFolder(t)
	mustWrite(t, native, damaged(mustRead(t, native)))
	if !throughStub(t, dir) {
		t.Error("the stub is no longer used")
	}
}

func TestADamagedStubIsUnpackedAgain(t *testing.T) {
	dir, _ := filledFolder(t)
	kept := contents(t, filepath.Join(dir, "images", "*.stub-*"))
	if len(kept) != 1 {
		t.Fatalf("%d stubs are kept", len(kept))
	}
	whole := mustRead(t, kept[0])
	for _, data := range [][]byte{nil, whole[:len(whole)/2], append([]byte{1}, whole[1:]...), append(bytes.Clone(whole), 0)} {
		mustWrite(t, kept[0], data)
		if !throughStub(t, dir) {
			t.Error("the stub is no longer used")
		}
		if again := mustRead(t, kept[0]); !bytes.Equal(again, whole) {
			t.Errorf("the folder has %d bytes, want %d", len(again), len(whole))
		}
	}
}

func TestCodeOfTheStubItselfIsNoticedAtTheFirstRun(t *testing.T) {
	dir, native := filledFolder(t)
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	stub, err := m.Stub()
	if err != nil {
		t.Fatal(err)
	}
	// What wazero stores if it does not find the code: code that traps.
	traps, err := compileInto(context.Background(), t.TempDir(), named(stub, m.CodeSHA256))
	if err != nil {
		t.Fatal(err)
	}
	data := mustRead(t, traps)
	mustWrite(t, native, data)
	s := &Store{dir: dir}
	note, err := readNote(s.notePath(m))
	if err != nil {
		t.Fatal(err)
	}
	note.Size = int64(len(data))
	encoded, err := json.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s.notePath(m), encoded)
	if err := os.Remove(s.digestPath(native)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	s.recordDigests() // as if the file had been compiled so
	if throughStub(t, dir) {
		t.Error("a guest without code is still used")
	}
	if !throughStub(t, dir) {
		t.Error("the code was not written again")
	}
}

// Two builds of a guest that differ in a constant have one stub. Each finds its
// own native code, alternately and in one folder.
func TestTwoBuildsOfOneShapeDoNotShareCode(t *testing.T) {
	if onInterpreter() {
		t.Skip("needs native code, which the interpreter has none of")
	}
	dir := t.TempDir()
	var builds []*wasmmodules.Module
	var stubs [][]byte
	for _, price := range []int64{100, 101} {
		m, err := tinyguest.Module(meter.Options{Weights: meter.Weights{Host: price}})
		if err != nil {
			t.Fatal(err)
		}
		stub, err := m.Stub()
		if err != nil {
			t.Fatal(err)
		}
		builds, stubs = append(builds, m), append(stubs, stub)
	}
	if !bytes.Equal(stubs[0], stubs[1]) || builds[0].CodeSHA256 == builds[1].CodeSHA256 {
		t.Fatal("the builds do not have one stub")
	}
	fuel := map[int][]int64{}
	for range 3 {
		for i, m := range builds {
			set := newSet(t, openStore(t, dir), m)
			end := run(t, set, "o x\nv 1")
			wantOne(t, end)
			fuel[i] = append(fuel[i], end.Fuel)
			closeAll(t, set)
			// The files of real guests are too large for digests at each start.
			for _, sum := range contents(t, filepath.Join(dir, "code", "*.sum")) {
				_ = os.Remove(sum)
			}
			(&Store{dir: dir}).recordDigests()
		}
	}
	if f := fuel[0]; f[0] != f[1] || f[1] != f[2] || f[0] >= fuel[1][0] || fuel[1][0] != fuel[1][1] || fuel[1][1] != fuel[1][2] {
		t.Errorf("fuel of one build %v, of the other %v", f, fuel[1])
	}
}

// An older version of wazero has a file of the same name in its own folder.
// Neither counts as damaged, which would compile it at each start.
func TestSmallCodeOfTwoVersionsOfWazeroStays(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, version := range []string{"wazero-1", "wazero-2"} {
		file := filepath.Join(dir, "code", version, "abc")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("code of "+version), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for range 3 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err = Open(dir); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestManyStoresCanFillOneFolderAtOnce(t *testing.T) {
	dir := t.TempDir()
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		set := newSet(t, openStore(t, dir), m)
		defer closeAll(t, set)
		all.Go(func() {
			if end := run(t, set, "v 1"); end.Fault != nil || string(end.Outcome.Data) != "1" {
				t.Errorf("%q %v", end.Outcome.Data, end.Fault)
			}
		})
	}
	all.Wait()
	if !onInterpreter() && !throughStub(t, dir) {
		t.Error("the stub is not used")
	}
	if left := contents(t, filepath.Join(dir, "*", ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
