package main

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// What a run costs the guest whatever its program does. Every page that is
// written to has to be copied first and every unit of fuel is about an
// instruction, so both are time that each run takes. The limits are what was
// measured and some room; who goes over one has put work into every run.
func TestOneLinersAreCheap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux to count pages")
	}
	limits := map[string]struct {
		file    string
		servers []string
		fuel    int64
		pages   int
	}{
		"quickjs": {"main.js", []string{"github", "jira", "slack", "linear", "drive"}, 60_000, 20},
		"cpython": {"main.py", []string{"github", "jira", "slack", "linear", "drive"}, 235_000, 80},
	}
	m, err := wasmmodules.Committed()
	if err != nil {
		t.Fatal(err)
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "quickjs" {
				t.Skip("short: compiles a large guest")
			}
			mod, err := wasmmodules.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			code, err := mod.Code()
			if err != nil {
				t.Fatal(err)
			}
			image, err := mod.Image()
			if err != nil {
				t.Fatal(err)
			}
			b := baker{entry: m.Entry(name), top: filepath.Join("..", "..")}
			if b.library, err = mod.Library(); err != nil {
				t.Fatal(err)
			}
			files, _, err := b.files()
			if err != nil {
				t.Fatal(err)
			}
			all, err := b.costs(context.Background(), code, image, files, nil, 3, program("1+1", limit.file, limit.servers...))
			if err != nil {
				t.Fatal(err)
			}
			one := all[0]
			t.Logf("fuel %d, pages %d, grown %d bytes, %v", one.fuel, len(one.pages), one.grown, one.took)
			if one.fuel > limit.fuel {
				t.Errorf("1+1 takes %d units of fuel, and not %d at most", one.fuel, limit.fuel)
			}
			if len(one.pages) > limit.pages {
				t.Errorf("1+1 writes to %d pages, and not %d at most: %v", len(one.pages), limit.pages, one.pages)
			}
			if one.grown > 0 {
				t.Errorf("1+1 makes the memory grow by %d bytes", one.grown)
			}
		})
	}
}
