package snapshot

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

func vector(items ...[]byte) []byte {
	out := []byte{byte(len(items))}
	for _, i := range items {
		out = append(out, i...)
	}
	return out
}

func sized(b ...byte) []byte { return append([]byte{byte(len(b))}, b...) }

func export(name string, kind, index byte) []byte {
	return append(sized([]byte(name)...), kind, index)
}

// guest is a small module with a start in two halves: data, and an _initialize
// that changes memory and globals.
func guest() []byte {
	const i32, i64, f64 = 0x7f, 0x7e, 0x7c
	return join([]section{
		{sectionCustom, append(sized('n', 'o', 't', 'e'), 1, 2, 3)},
		{1, vector(
			[]byte{0x60, 0, 0},
			[]byte{0x60, 1, i32, 1, i32},
			[]byte{0x60, 2, i32, i32, 0},
			[]byte{0x60, 0, 1, i64},
			[]byte{0x60, 0, 1, i32},
		)},
		{3, []byte{6, 0, 1, 2, 1, 4, 3}},
		{sectionMemory, []byte{1, 1, 2, 100}},
		{sectionGlobal, vector(
			[]byte{i32, 1, 0x41, 7, 0x0b},
			[]byte{i64, 1, 0x42, 1, 0x0b},
			[]byte{f64, 1, 0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x0b}, // 1.5
			[]byte{i32, 0, 0x41, 5, 0x0b},
		)},
		{sectionExport, vector(
			export("memory", 2, 0), export("_initialize", 0, 0), export("load", 0, 1), export("store", 0, 2),
			export("grow", 0, 3), export("next", 0, 4), export("state", 0, 5),
		)},
		{sectionDataCount, []byte{1}},
		{sectionCode, vector(
			// _initialize: mem[100] = 42; g0 = 1000; g1 = -5; g2 = -0.25
			sized(0, 0x41, 0xe4, 0, 0x41, 42, 0x36, 2, 0, 0x41, 0xe8, 7, 0x24, 0, 0x42, 0x7b, 0x24, 1,
				0x44, 0, 0, 0, 0, 0, 0, 0xd0, 0xbf, 0x24, 2, 0x0b),
			sized(0, 0x20, 0, 0x28, 2, 0, 0x0b),                      // load
			sized(0, 0x20, 0, 0x20, 1, 0x36, 2, 0, 0x0b),             // store
			sized(0, 0x20, 0, 0x40, 0, 0x0b),                         // grow
			sized(0, 0x23, 0, 0x41, 1, 0x6a, 0x24, 0, 0x23, 0, 0x0b), // next: ++g0
			// state: g1*100 + trunc(g2*4)
			sized(0, 0x23, 1, 0x42, 0xe4, 0, 0x7e, 0x23, 2, 0x44, 0, 0, 0, 0, 0, 0, 0x10, 0x40, 0xa2, 0xb0, 0x7c, 0x0b),
		)},
		{sectionData, append([]byte{1, 0, 0x41, 8, 0x0b, 5}, "hello"...)},
	})
}

// started is an instance of guest that has initialised itself.
func started(t testing.TB, rt wazero.Runtime, module []byte) api.Module {
	t.Helper()
	m, err := rt.InstantiateWithConfig(context.Background(), module, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// split is the guest's code-only module and image.
func split(t testing.TB) (code, image []byte) {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	code, image, err := Split(guest(), started(t, rt, guest()))
	if err != nil {
		t.Fatal(err)
	}
	return code, image
}

// instance makes one of the code-only module with memory from a.
func instance(t testing.TB, rt wazero.Runtime, c wazero.CompiledModule, a *Allocator) api.Module {
	t.Helper()
	ctx := experimental.WithMemoryAllocator(context.Background(), a)
	m, err := rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func call(t testing.TB, m api.Module, name string, args ...uint64) int64 {
	t.Helper()
	r, err := m.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r) == 0 {
		return 0
	}
	return int64(r[0])
}

// modes runs a test with mappings and with copies.
func modes(t *testing.T, f func(t *testing.T, mode Mode)) {
	t.Run("auto", func(t *testing.T) { f(t, Auto) })
	t.Run("copy", func(t *testing.T) { f(t, Copy) })
}

// bench is a runtime with the guest compiled and its image open.
func bench(t testing.TB, mode Mode) (wazero.Runtime, wazero.CompiledModule, *Image) {
	t.Helper()
	ctx := context.Background()
	code, image := split(t)
	im, err := New(image, mode)
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntime(ctx)
	c, err := rt.CompileModule(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		rt.Close(ctx)
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt, c, im
}
