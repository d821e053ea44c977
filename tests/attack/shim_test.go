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

// exports are all that a guest lets be called or seen: nothing that starts the
// interpreter once more, nothing that allocates.
var exports = []string{"guest_run", "memory", "wexec_fuel"}

// TestExportsOfGuestsMayBeCalledInAnyOrder calls what a guest exports where it
// was not to be called: with no image in its memory, with a host that gives
// nonsense for every import, again after that, and from within itself. It
// returns or traps; nothing but its own memory is touched.
func TestExportsOfGuestsMayBeCalledInAnyOrder(t *testing.T) {
	for _, name := range wasmmodules.Names() {
		if testing.Short() && name != "quickjs" {
			continue // they take seconds to compile
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
					t.Errorf("it exports %s", n)
				}
			}
			l := &liar{}
			if err := l.stand(ctx, rt, compiled); err != nil {
				t.Fatal(err)
			}
			for _, order := range [][]string{{"run"}, {"image", "run", "run"}, {"run", "image", "run"}, {"image", "run", "garbage", "run"}, {"image", "within"}} {
				for _, answer := range []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 31, 0x7fff_fff0} {
					l.answer, l.inside = answer, nil
					l.callAll(t, rt, compiled, image, order)
				}
			}
		})
	}
}

// liar stands for the host: every import gives the same answer. One thing it
// does as an engine does: who comes for fuel without end is stopped, since the
// guest has no other end where it gets none.
type liar struct {
	answer  uint64
	inside  func() // called once from within an import
	refills int    // in one call of an export
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
					panic(errors.New("the fuel is used up"))
				}
			}
			if results > 0 {
				stack[0] = l.answer
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for name, b := range modules {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("stand for %s: %w", name, err)
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
				t.Fatal("the image does not fit")
			}
		case "garbage":
			for i := uint32(0); i < inst.Memory().Size(); i += 4093 {
				inst.Memory().WriteByte(i, byte(i))
			}
		case "within":
			// With a stack of its own: a handle of wazero's serves one call at a time.
			l.inside = func() { _, _ = inst.ExportedFunction("guest_run").Call(ctx) }
			fallthrough
		case "run":
			_, _ = run.Call(ctx) // whatever it gives, it comes back
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%v with %d: it took %s", order, l.answer, took)
		}
	}
}
