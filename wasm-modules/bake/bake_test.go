package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/meter"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// TestCommittedGuestsAreWhatTheySay boots every guest from what is committed,
// runs the program of its manifest, which asks for its version, and holds the
// fuel against the manifest's.
func TestCommittedGuestsAreWhatTheySay(t *testing.T) {
	m, err := wasmmodules.Committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range wasmmodules.Names() {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "quickjs" {
				t.Skip("short: compiles a large guest")
			}
			mod, err := wasmmodules.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			part := func(f func() ([]byte, error)) []byte {
				data, err := f()
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			b := baker{entry: m.Entry(name), top: filepath.Join("..", "..")}
			if lib := part(mod.Library); lib != nil {
				b.library = lib
			}
			files, _, err := b.files()
			if err != nil {
				t.Fatal(err)
			}
			fuel, err := b.prove(context.Background(), part(mod.Code), part(mod.Image), files)
			if err != nil {
				t.Fatal(err)
			}
			if fuel != b.entry.Fuel {
				t.Errorf("the proof used %d units of fuel; the manifest says %d", fuel, b.entry.Fuel)
			}
		})
	}
}

func TestPreludesAreBakedIn(t *testing.T) {
	m, err := wasmmodules.Committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Guests {
		if e.Prelude == "" {
			continue
		}
		b := baker{entry: &e, top: filepath.Join("..", "..")}
		b.entry.Library = ""
		if _, digest, err := b.files(); err != nil || digest != e.PreludeIs {
			t.Errorf("%s: its prelude %s has changed since it was baked, or %v: run the baker", e.Name, e.Prelude, err)
		}
	}
}

func TestWhatIsNotAGuestIsRefused(t *testing.T) {
	for want, info := range map[string]meter.Info{
		"imports the func env.x": {Imports: []meter.Import{{Module: "env", Name: "x"}}},
		"imports the memory":     {Imports: []meter.Import{{Module: "wexec", Name: "m", Kind: meter.MemoryKind}}},
		"does not export memory": {},
	} {
		if err := allowed(info); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPackingIsTheSameEveryTime(t *testing.T) {
	data, err := os.ReadFile("bake.go")
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Repeat(data, 50)
	first, err := pack(data)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := pack(data); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("it differs: %v", err)
		}
	}
}

func TestCommandRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{
		{"-guest", "perl"}, {"-guest", "quickjs"}, {"-guest", "quickjs", "-raw", "missing.wasm"},
		{"-guest", "quickjs", "-show", "nothing"}, {"-guest", "quickjs", "-show", "flags.nothing"},
		{"-guest", "cpython", "-raw", "bake.go"},
	} {
		if err := command(append([]string{"-top", filepath.Join("..", "..")}, args...)); err == nil {
			t.Errorf("%v succeeds", args)
		}
	}
}
