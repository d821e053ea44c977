package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// filledFolder returns a cache folder that has the tiny guest.
func filledFolder(t *testing.T) string {
	t.Helper()
	if onInterpreter() {
		t.Skip("needs native code, which the interpreter has none of")
	}
	dir := t.TempDir()
	e := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
	return dir
}

// throughStub reports whether an engine over a folder has loaded the tiny guest
// through its stub, after a run that must succeed.
func throughStub(t *testing.T, dir string) bool {
	t.Helper()
	e := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, e, "l 1000\nv 1")
	wantValue(t, res, err, "1")
	g, err := e.guests.Get(context.Background(), JavaScript, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Stub
}

func TestALaterEngineLoadsTheStub(t *testing.T) {
	dir := filledFolder(t)
	if !throughStub(t, dir) {
		t.Error("the whole module was loaded")
	}
	whole := newTiny(t, Config{})
	stub := newTiny(t, Config{Cache: dir})
	for _, code := range []string{"v 1", "l 100000", "m 3", "x", "R", "q 3", "o text\nr", "l 0"} {
		change := func(r *Request) { r.Deterministic, r.Limits.Fuel = true, 50_000_000 }
		a, errA := tiny(t, whole, code, change)
		b, errB := tiny(t, stub, code, change)
		if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() || string(a.Value) != string(b.Value) ||
			a.Stdout != b.Stdout || a.Usage.Fuel != b.Usage.Fuel || a.Usage.MemoryPeak != b.Usage.MemoryPeak {
			t.Errorf("%s: %v %s %+v, through the stub %v %s %+v", code, errA, a.Value, a.Usage, errB, b.Value, b.Usage)
		}
	}
}

func TestRunsSucceedWithoutAWritableFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Cache: filepath.Join(file, "below")})
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")

	full := filledFolder(t)
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
