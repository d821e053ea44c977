package meter_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/internal/meter"
)

// A start function that has a name waits for its call, does what it did, and is
// paid for; without one it runs by itself.
func TestAStartFunctionWaitsUntilItIsCalledByName(t *testing.T) {
	p := source{
		types: [][2][]byte{{}, {nil, {i64}}}, pages: -1, globals: []byte{7}, start: 1,
		funcs: []body{
			{typ: 0, code: cat(0x42, 35, 0x23, 0, 0x7c, 0x24, 0)}, // global += 35
			{typ: 1, name: "now", code: cat(0x23, 0)},
		},
	}.bytes()
	ctx := context.Background()
	for _, e := range engines {
		for _, name := range []string{"", "begin"} {
			with, info, err := meter.Rewrite(p, meter.Options{Start: name})
			if err != nil || !info.Start {
				t.Fatal(info.Start, err)
			}
			b := setUp(t, e.config, with)
			tank := &meter.Tank{Budget: plenty}
			m, err := b.runtime.InstantiateModule(context.WithValue(ctx, tankKey{}, tank), b.code, wazero.NewModuleConfig().WithStartFunctions())
			if err != nil {
				t.Fatal(err)
			}
			now := func() uint64 {
				got, err := m.ExportedFunction("now").Call(context.WithValue(ctx, tankKey{}, tank))
				if err != nil {
					t.Fatal(err)
				}
				return got[0]
			}
			if name != "" {
				if got := now(); got != 7 {
					t.Errorf("on the %s it has run before it was called: %d", e.name, got)
				}
				before := int64(m.ExportedGlobal(meter.FuelExport).Get())
				if _, err := m.ExportedFunction(name).Call(context.WithValue(ctx, tankKey{}, tank)); err != nil {
					t.Fatal(err)
				}
				if after := int64(m.ExportedGlobal(meter.FuelExport).Get()); after >= before {
					t.Errorf("on the %s it cost nothing: %d, then %d", e.name, before, after)
				}
			}
			if got := now(); got != 42 {
				t.Errorf("on the %s, named %q: %d", e.name, name, got)
			}
		}
	}
	taken := source{types: [][2][]byte{{}}, pages: -1, start: 1, funcs: []body{{typ: 0, name: "begin"}}}.bytes()
	if _, _, err := meter.Rewrite(taken, meter.Options{Start: "begin"}); err == nil {
		t.Error("a module that has that export already was taken")
	}
	plain := source{types: [][2][]byte{{}}, pages: -1, funcs: []body{{typ: 0, name: "f"}}}.bytes()
	with, _, err := meter.Rewrite(plain, meter.Options{Start: "begin"})
	if err != nil {
		t.Fatal(err)
	}
	if b := setUp(t, engines[1].config, with); b.code.ExportedFunctions()["begin"] != nil {
		t.Error("a module without a start function has got one")
	}
}
