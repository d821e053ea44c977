package guestcache

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/wexec/wexec/guests"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// prefetching opens a folder that has the tiny guest, and starts to load it.
func prefetching(t *testing.T, dir string) *Store {
	t.Helper()
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	s.startPrefetch(m.Name, opens(m))
	return s
}

func TestAPrefetchedGuestGoesToTheFirstSetOnly(t *testing.T) {
	dir, _ := filledFolder(t)
	s := prefetching(t, dir)
	p := s.prefetch
	<-p.done
	if p.loaded == nil {
		t.Fatal("nothing was loaded")
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	first, second := newSet(t, s, m), newSet(t, s, m)
	for _, set := range []*Set{first, second} {
		wantOne(t, run(t, set, "v 1"))
		g, err := set.Get(t.Context(), guests.JavaScript, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (g.Module == p.loaded) != (set == first) {
			t.Error("the prefetched guest does not belong to the first set only")
		}
		if err := set.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnUnusedPrefetchIsFreed(t *testing.T) {
	dir, native := filledFolder(t)
	if err := prefetching(t, dir).Close(); err != nil {
		t.Error(err)
	}
	// Without its code nothing is loaded, and the run compiles it again.
	if err := os.Remove(native); err != nil {
		t.Fatal(err)
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, prefetching(t, dir), m)
	wantOne(t, run(t, set, "v 1"))
	closeAll(t, set)
}

func TestAnotherBuildIsNotTakenForThePrefetchedOne(t *testing.T) {
	dir, _ := filledFolder(t)
	s := prefetching(t, dir)
	t.Cleanup(func() { _ = s.Close() })
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	other := *m
	other.Digest = "another"
	if s.prefetched(&other) != nil || s.prefetch != nil {
		t.Error("it was taken")
	}
}

func TestNothingIsPrefetchedWithoutFolderOrGuest(t *testing.T) {
	memory, folder := openStore(t, ""), openStore(t, t.TempDir())
	memory.Prefetch(guests.JavaScript)
	folder.Prefetch("cobol")
	if memory.prefetch != nil || folder.prefetch != nil {
		t.Error("something was prefetched")
	}
	folder.startPrefetch("absent", func(string) (*wasmmodules.Module, error) { return nil, errors.New("no such module") })
	for _, s := range []*Store{memory, folder} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	folder.Prefetch(guests.JavaScript)
	if folder.prefetch != nil {
		t.Error("a closed store prefetches")
	}
}
