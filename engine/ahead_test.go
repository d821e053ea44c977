package engine

import (
	"errors"
	"os"
	"testing"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// left is a folder in which an engine that is closed has laid the tiny guest,
// with the file of its native code.
func left(t *testing.T) (dir, native string) {
	t.Helper()
	dir, native = laid(t)
	note, err := OpenCache(dir) // small files that nobody has noted are dropped
	if err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Shared: note})
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
	if err := errors.Join(e.Close(), note.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, native
}

// begun opens a folder in which the tiny guest lies, and begins to load it.
func begun(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	c.begin(m.Name, opens(m))
	return c
}

func TestAGuestThatWasBegunIsTakenByTheFirstRunOnly(t *testing.T) {
	dir, _ := left(t)
	c := begun(t, dir)
	ahead := c.begun
	<-ahead.done
	if ahead.got == nil {
		t.Fatal("nothing was loaded")
	}
	first, second := newTiny(t, Config{Shared: c}), newTiny(t, Config{Shared: c})
	t.Cleanup(func() { _ = c.Close() })
	for _, e := range []*Engine{first, second} {
		res, err := tiny(t, e, "v 1")
		wantValue(t, res, err, "1")
		g, err := e.guests.get(t.Context(), JavaScript, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (g.compiled == ahead.got) != (e == first) {
			t.Error("what was begun does not belong to the first engine alone")
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAGuestThatWasBegunInVainIsGivenBack(t *testing.T) {
	dir, native := left(t)
	if err := begun(t, dir).Close(); err != nil {
		t.Error(err)
	}
	// Without its code nothing comes of it, and the run makes the code again.
	if err := os.Remove(native); err != nil {
		t.Fatal(err)
	}
	c := begun(t, dir)
	t.Cleanup(func() { _ = c.Close() })
	res, err := tiny(t, newTiny(t, Config{Shared: c}), "v 1")
	wantValue(t, res, err, "1")
}

func TestAnotherBuildOfAGuestIsNotTakenForTheOneThatRuns(t *testing.T) {
	dir, _ := left(t)
	c := begun(t, dir)
	t.Cleanup(func() { _ = c.Close() })
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	other := *m
	other.Digest = "another"
	if c.early(&other) != nil || c.begun != nil {
		t.Error("it was taken")
	}
}

func TestNothingIsBegunThatCannotBe(t *testing.T) {
	memory, err := OpenCache("")
	if err != nil {
		t.Fatal(err)
	}
	memory.Begin(JavaScript)
	folder, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder.Begin("cobol")
	if memory.begun != nil || folder.begun != nil {
		t.Error("something was begun")
	}
	folder.begin("absent", func(string) (*wasmmodules.Module, error) { return nil, errors.New("there is none") })
	for _, c := range []*Cache{memory, folder} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	folder.Begin(JavaScript)
	if folder.begun != nil {
		t.Error("a closed cache begins")
	}
}
