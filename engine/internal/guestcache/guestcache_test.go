package guestcache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/internal/tools/tinyguest"
	"github.com/wexec/wexec/policy"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

var tinyGuest = sync.OnceValues(func() (*wasmmodules.Module, error) { return tinyguest.Module(meter.Options{}) })

func onInterpreter() bool { return os.Getenv("WEXEC_TEST_ON") == "interpreter" }

// opens returns the same module for every name.
func opens(m *wasmmodules.Module) func(string) (*wasmmodules.Module, error) {
	return func(string) (*wasmmodules.Module, error) { return m, nil }
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WEXEC_TEST_ON") == "portable" {
		s.Memories = snapshot.Copy
	}
	return s
}

// newSet returns a set over a store, in which every language runs in a module.
func newSet(t *testing.T, s *Store, m *wasmmodules.Module) *Set {
	t.Helper()
	set := NewSet(SetOptions{Context: context.Background(), Store: s, Ledger: &sandbox.Ledger{Max: 4 << 30},
		Log: slog.New(slog.DiscardHandler), Interpreter: onInterpreter()})
	set.Open = opens(m)
	return set
}

func closeAll(t *testing.T, set *Set) {
	t.Helper()
	if err := errors.Join(set.Close(context.Background()), set.Store.Close()); err != nil {
		t.Error(err)
	}
}

// run runs a program of the tiny guest, as the engine does: again if the guest
// has lost its code.
func run(t *testing.T, set *Set, code string) sandbox.End {
	t.Helper()
	for range 3 {
		g, err := set.Get(context.Background(), guests.JavaScript, nil)
		if err != nil {
			t.Fatal(err)
		}
		i, err := g.Take(context.Background(), 512<<20)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(map[string]string{"code": code})
		if err != nil {
			t.Fatal(err)
		}
		end, started := g.Isolated(context.Background(), i, world.NewLive(world.Options{Deterministic: true}), policy.DefaultLimits(), doc)
		g.Discard(i)
		if end.Fault == nil || !g.Stub || started {
			return end
		}
		set.LostCode(g)
	}
	t.Fatal("the guest has no code")
	return sandbox.End{}
}

func wantOne(t *testing.T, end sandbox.End) {
	t.Helper()
	if end.Fault != nil || string(end.Outcome.Data) != "1" {
		t.Fatalf("the program ended with %q, %v", end.Outcome.Data, end.Fault)
	}
}

// filledFolder returns a cache folder that has the tiny guest, and the file of
// its native code.
func filledFolder(t *testing.T) (dir, native string) {
	t.Helper()
	if onInterpreter() {
		t.Skip("needs native code, which the interpreter has none of")
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for range 2 { // the second store keeps the digests of small files
		set := newSet(t, openStore(t, dir), m)
		wantOne(t, run(t, set, "v 1"))
		closeAll(t, set)
	}
	note, err := readNote((&Store{dir: dir}).notePath(m))
	if err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "code", note.File)
}

// throughStub runs a program with a new store over a folder, and reports whether
// the guest was loaded through its stub.
func throughStub(t *testing.T, dir string) bool {
	t.Helper()
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, openStore(t, dir), m)
	defer closeAll(t, set)
	wantOne(t, run(t, set, "l 1000\nv 1"))
	g, err := set.Get(context.Background(), guests.JavaScript, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Stub
}

// contents returns the files of a folder that match a pattern.
func contents(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustWrite(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func damaged(data []byte) []byte {
	data = bytes.Clone(data)
	data[len(data)/2] ^= 0xff
	return data
}
