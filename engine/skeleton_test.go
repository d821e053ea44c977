package engine

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
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// laid makes a cache folder in which the tiny guest lies, and gives the file
// with its native code.
func laid(t *testing.T) (dir, native string) {
	t.Helper()
	if onInterpreter() {
		t.Skip("the interpreter has no native code")
	}
	dir = t.TempDir()
	e := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
	notes, _ := filepath.Glob(filepath.Join(dir, "code", "*.json"))
	if len(notes) != 1 {
		t.Fatalf("%d notes", len(notes))
	}
	data, err := os.ReadFile(notes[0])
	if err != nil {
		t.Fatal(err)
	}
	var b bones
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "code", b.File)
}

// bySkeleton reports whether an engine over a folder has loaded the tiny guest
// by its skeleton, after a run that must succeed.
func bySkeleton(t *testing.T, dir string) bool {
	t.Helper()
	e := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, e, "l 1000\nv 1")
	wantValue(t, res, err, "1")
	g, err := e.guests.get(context.Background(), JavaScript, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.compiled.skeleton
}

// This is the test that pins what wazero does not document: native code of a
// module is found, and works, under the name of the module's skeleton.
func TestALaterEngineLoadsTheSkeleton(t *testing.T) {
	dir, native := laid(t)
	before, err := os.Stat(native)
	if err != nil {
		t.Fatal(err)
	}
	if before.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", before.Mode())
	}
	if !bySkeleton(t, dir) {
		t.Error("the whole module was loaded")
	}
	whole := newTiny(t, Config{})
	lean := newTiny(t, Config{Cache: dir})
	for _, code := range []string{"v 1", "l 100000", "m 3", "x", "R", "q 3", "o text\nr", "l 0"} {
		change := func(r *Request) { r.Deterministic, r.Limits.Fuel = true, 50_000_000 }
		a, errA := tiny(t, whole, code, change)
		b, errB := tiny(t, lean, code, change)
		if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() || string(a.Value) != string(b.Value) ||
			a.Stdout != b.Stdout || a.Usage.Fuel != b.Usage.Fuel || a.Usage.MemoryPeak != b.Usage.MemoryPeak {
			t.Errorf("%s: %v %s %+v, by the skeleton %v %s %+v", code, errA, a.Value, a.Usage, errB, b.Value, b.Usage)
		}
	}
}

func TestLostNativeCodeIsMadeAgain(t *testing.T) {
	dir, native := laid(t)
	if err := os.Remove(native); err != nil {
		t.Fatal(err)
	}
	again, still := bySkeleton(t, dir), bySkeleton(t, dir)
	if !again || !still {
		t.Error("the skeleton is not used any more")
	}
}

func TestDamagedNativeCodeIsMadeAgain(t *testing.T) {
	dir, native := laid(t)
	data, err := os.ReadFile(native)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0xff
	if err := os.WriteFile(native, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if !bySkeleton(t, dir) {
		t.Error("the skeleton is not used any more")
	}
}

func TestADamagedSkeletonIsUnpackedAgain(t *testing.T) {
	dir, _ := laid(t)
	kept, _ := filepath.Glob(filepath.Join(dir, "images", "*.skeleton-*"))
	if len(kept) != 1 {
		t.Fatalf("%d skeletons are kept", len(kept))
	}
	whole, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, whole[:len(whole)/2], append([]byte{1}, whole[1:]...), append(whole[:len(whole):len(whole)], 0)} {
		if err := os.WriteFile(kept[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if !bySkeleton(t, dir) {
			t.Error("the skeleton is not used any more")
		}
		if again, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("%d bytes are left, and not %d: %v", len(again), len(whole), err)
		}
	}
}

func TestCodeOfTheSkeletonItselfIsNoticedAtTheFirstRun(t *testing.T) {
	dir, native := laid(t)
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	skeleton, err := m.Stub()
	if err != nil {
		t.Fatal(err)
	}
	// what wazero leaves when it did not find the code: code that traps
	own, err := compileInto(context.Background(), t.TempDir(), titled(skeleton, m.CodeSHA256))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(native, data, 0o600); err != nil {
		t.Fatal(err)
	}
	notes, _ := filepath.Glob(filepath.Join(dir, "code", "*.json"))
	old, _ := os.ReadFile(notes[0])
	var b bones
	if err := json.Unmarshal(old, &b); err != nil {
		t.Fatal(err)
	}
	b.Size = int64(len(data))
	note, _ := json.Marshal(b)
	if err := os.WriteFile(notes[0], note, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Cache{dir: dir}
	if err := os.Remove(c.sumPath(native)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	c.noteSmall() // as if it had been made so
	if bySkeleton(t, dir) {
		t.Error("a guest without code is still used")
	}
	if !bySkeleton(t, dir) {
		t.Error("the code was not laid again")
	}
}

// Two builds of a guest that differ in a constant have one skeleton. Each finds
// its own native code all the same, in turns and in one folder.
func TestTwoBuildsOfOneShapeDoNotTakeEachOthersCode(t *testing.T) {
	dir := t.TempDir()
	var builds []*wasmmodules.Module
	var skeletons []string
	for _, price := range []int64{100, 101} {
		m, err := makeTiny(meter.Options{Weights: meter.Weights{Host: price}})
		if err != nil {
			t.Fatal(err)
		}
		skeleton, err := m.Stub()
		if err != nil {
			t.Fatal(err)
		}
		builds, skeletons = append(builds, m), append(skeletons, string(skeleton))
	}
	if skeletons[0] != skeletons[1] || builds[0].CodeSHA256 == builds[1].CodeSHA256 {
		t.Fatal("the builds do not have one skeleton")
	}
	off := false
	fuel := map[int][]int64{}
	for range 3 {
		for i, m := range builds {
			e, err := open(Config{Cache: dir, Ready: -1})
			if err != nil {
				t.Fatal(err)
			}
			e.guests.open = opens(m)
			res, err := tiny(t, e, "o x\nv 1", func(r *Request) { r.Cache = &off })
			wantValue(t, res, err, "1")
			fuel[i] = append(fuel[i], res.Usage.Fuel)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			// The guests' own files are too large for digests at each start.
			sums, _ := filepath.Glob(filepath.Join(dir, "code", "*.sum"))
			for _, sum := range sums {
				_ = os.Remove(sum)
			}
			(&Cache{dir: dir}).noteSmall()
		}
	}
	if f := fuel[0]; f[0] != f[1] || f[1] != f[2] || f[0] >= fuel[1][0] || fuel[1][0] != fuel[1][1] || fuel[1][1] != fuel[1][2] {
		t.Errorf("fuel of one build %v, of the other %v", f, fuel[1])
	}
}

// An older version of wazero left a file of the same name in a folder of its
// own: neither is taken for damaged, which would compile it at each start.
func TestSmallCodeOfTwoVersionsOfWazeroStays(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCache(dir)
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
		if c, err = OpenCache(dir); err != nil {
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

func TestAFolderThatCannotBeWrittenStopsNobody(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Cache: filepath.Join(file, "below")})
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")

	full, _ := laid(t)
	for _, sub := range []string{"code", "images", "outputs", "results"} {
		if err := os.RemoveAll(filepath.Join(full, sub)); err != nil {
			t.Fatal(err)
		}
	}
	e = newTiny(t, Config{Cache: full})
	for _, sub := range []string{"images", "results"} { // gone under the engine
		if err := os.RemoveAll(filepath.Join(full, sub)); err != nil {
			t.Fatal(err)
		}
	}
	res, err = tiny(t, e, "v 1", fixed)
	wantValue(t, res, err, "1")
}

func TestTwoEnginesLayOneFolderAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		e := newTiny(t, Config{Cache: dir})
		all.Add(1)
		go func() {
			defer all.Done()
			if res, err := tiny(t, e, "v 1"); err != nil || string(res.Value) != "1" {
				t.Errorf("%s %v", res.Value, err)
			}
		}()
	}
	all.Wait()
	if !onInterpreter() && !bySkeleton(t, dir) {
		t.Error("the skeleton is not used")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
