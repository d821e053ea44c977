package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// exports are the allowed exports of guests. None starts the interpreter again or
// allocates.
var exports = []string{"guest_keep", "guest_run", "memory", "wexec_fuel"}

// TestExportsOfGuestsMayBeCalledInAnyOrder calls exports of guests at the wrong time:
// without an image, with a host that answers every import with nonsense, again after
// that, and recursively. Calls return or trap, and only the memory of the guest
// changes.
func TestExportsOfGuestsMayBeCalledInAnyOrder(t *testing.T) {
	for _, name := range wasmmodules.Names() {
		if testing.Short() && name != "quickjs" {
			continue // compiling them takes seconds
		}
		t.Run(name, func(t *testing.T) {
			m, err := wasmmodules.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			code, err := m.Code()
			if err != nil {
				t.Fatal(err)
			}
			image, err := m.Image()
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(true).WithMemoryLimitPages(2048).
				WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExtendedConst))
			defer rt.Close(ctx)
			wasi_snapshot_preview1.MustInstantiate(ctx, rt)
			compiled, err := rt.CompileModule(ctx, code)
			if err != nil {
				t.Fatal(err)
			}
			seen := []string{}
			for n := range compiled.ExportedFunctions() {
				seen = append(seen, n)
			}
			for n := range compiled.ExportedMemories() {
				seen = append(seen, n)
			}
			for _, n := range seen {
				if !slices.Contains(exports, n) {
					t.Errorf("unexpected export %s", n)
				}
			}
			l := &liar{}
			if err := l.stand(ctx, rt, compiled); err != nil {
				t.Fatal(err)
			}
			for _, order := range [][]string{{"run"}, {"image", "run", "run"}, {"run", "image", "run"}, {"image", "run", "garbage", "run"}, {"image", "within"}, {"keep"}, {"image", "run", "keep", "run"}, {"image", "garbage", "keep"}} {
				for _, answer := range []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 31, 0x7fff_fff0} {
					l.answer, l.inside = answer, nil
					l.callAll(t, rt, compiled, image, order)
				}
			}
		})
	}
}

// liar is a host whose imports all return the same answer. Like an engine, it stops a
// guest that keeps asking for fuel, which would not end otherwise.
type liar struct {
	answer  uint64
	inside  func() // called once during an import
	refills int    // per call of an export
}

const maxRefills = 100_000

func (l *liar) stand(ctx context.Context, rt wazero.Runtime, m wazero.CompiledModule) error {
	modules := map[string]wazero.HostModuleBuilder{}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == wasi_snapshot_preview1.ModuleName {
			continue
		}
		if modules[module] == nil {
			modules[module] = rt.NewHostModuleBuilder(module)
		}
		results := len(f.ResultTypes())
		modules[module].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			if f := l.inside; f != nil {
				l.inside = nil
				f()
			}
			if name == "refill" {
				if l.refills++; l.refills > maxRefills {
					panic(errors.New("out of fuel"))
				}
			}
			if results > 0 {
				stack[0] = l.answer
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for name, b := range modules {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("define %s: %w", name, err)
		}
	}
	return nil
}

func (l *liar) callAll(t *testing.T, rt wazero.Runtime, m wazero.CompiledModule, image []byte, order []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	inst, err := rt.InstantiateModule(ctx, m, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close(context.Background())
	run := inst.ExportedFunction("guest_run")
	for _, what := range order {
		begun := time.Now()
		l.refills = 0
		switch what {
		case "image":
			if !inst.Memory().Write(0, image) {
				t.Fatal("the image does not fit in memory")
			}
		case "garbage":
			for i := uint32(0); i < inst.Memory().Size(); i += 4093 {
				inst.Memory().WriteByte(i, byte(i))
			}
		case "within":
			// A function handle of wazero serves one call at a time.
			l.inside = func() { _, _ = inst.ExportedFunction("guest_run").Call(ctx) }
			fallthrough
		case "keep":
			if f := inst.ExportedFunction("guest_keep"); f != nil {
				_, _ = f.Call(ctx)
			}
		case "run":
			_, _ = run.Call(ctx) // the result does not matter
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%v with %d: it took %s", order, l.answer, took)
		}
	}
}
