package meter_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wexec/wexec/internal/meter"
)

// FuzzProgramsAreUnchanged takes any bytes. What the meter refuses it refuses
// with a meter error; of a valid module the rewritten one is valid too,
// and every function of it that takes words gives the same value, trap and
// memory on both engines, for one amount of fuel, unless the fuel runs out.
func FuzzProgramsAreUnchanged(f *testing.F) {
	every := 20
	if flag.Lookup("test.fuzz").Value.String() != "" {
		every = 1
	}
	for i, module := range corpus(f) {
		// The few that are larger take seconds with a fuzzer's counters in the
		// compilers, and it takes what is slow for dead.
		if i%every == 0 && len(module) <= 16<<10 {
			f.Add(module)
		}
	}
	for _, p := range programs() {
		f.Add(p.bytes())
	}
	f.Fuzz(func(t *testing.T, module []byte) {
		out, _, err := meter.Rewrite(module, meter.Options{})
		var e *meter.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		if again, _, err := meter.Rewrite(module, meter.Options{}); err != nil || !bytes.Equal(out, again) {
			t.Fatal("two rewrites differ")
		}
		var fuel []int64
		for _, e := range engines {
			if used, ok := compareAll(t, e.config, module, out); ok {
				fuel = append(fuel, used)
			}
		}
		if len(fuel) == 2 && fuel[0] != fuel[1] {
			t.Errorf("%d fuel on the compiler, %d on the interpreter", fuel[0], fuel[1])
		}
	})
}

// compareAll runs a module plain and metered until its fuel is used up, and
// reports the fuel, where that does not depend on the engine.
func compareAll(t *testing.T, config wazero.RuntimeConfig, module, out []byte) (fuel int64, ok bool) {
	t.Helper()
	const budget = 100_000
	ctx := context.Background()
	config = config.WithCoreFeatures(allFeatures).WithMemoryLimitPages(64)
	plain := wazero.NewRuntimeWithConfig(ctx, config)
	defer plain.Close(ctx)
	if _, err := plain.CompileModule(ctx, module); err != nil {
		return 0, false // not valid: nothing is promised
	}
	with := wazero.NewRuntimeWithConfig(ctx, config)
	defer with.Close(ctx)
	tank := &meter.Tank{Budget: budget, Slice: 100}
	_, err := with.NewHostModuleBuilder(meter.RefillModule).NewFunctionBuilder().WithFunc(func(level int64) int64 {
		level, ok := tank.Refill(level)
		if !ok {
			panic(errNoFuel)
		}
		return level
	}).Export(meter.RefillName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with.CompileModule(ctx, out); err != nil {
		t.Fatalf("the metered module is not valid: %v", err)
	}
	// The metered one goes first: where it ends within the budget, so does the
	// other.
	for _, r := range []wazero.Runtime{with, plain} {
		if _, err := r.InstantiateWithConfig(ctx, specHost(t), wazero.NewModuleConfig().WithName("spectest")); err != nil {
			t.Fatal(err)
		}
	}
	unnamed := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	b, err := with.InstantiateWithConfig(ctx, out, unnamed)
	if errors.Is(err, errNoFuel) {
		return 0, true
	}
	a, plainErr := plain.InstantiateWithConfig(ctx, module, unnamed)
	if reason(plainErr) != reason(err) {
		t.Fatalf("instantiate: %v, unmetered %v", err, plainErr)
	}
	if err != nil {
		return 0, false
	}
	level := b.ExportedGlobal(meter.FuelExport)
	for _, name := range exports(a) {
		definition := a.ExportedFunction(name).Definition()
		if !words(definition.ParamTypes()) || !words(definition.ResultTypes()) {
			continue
		}
		args := make([]uint64, len(definition.ParamTypes()))
		for i := range args {
			args[i] = 3
		}
		got, err := b.ExportedFunction(name).Call(ctx, args...)
		if errors.Is(err, errNoFuel) {
			return tank.Used(int64(level.Get())), true
		}
		want, plainErr := a.ExportedFunction(name).Call(ctx, args...)
		if !slices.Equal(got, want) || reason(err) != reason(plainErr) {
			t.Fatalf("%s: %v %v, unmetered %v %v", name, got, err, want, plainErr)
		}
		if strings.Contains(reason(err), "stack overflow") {
			return 0, false // how deep the stack goes is the engine's affair
		}
	}
	sameMemory(t, a, b)
	return tank.Used(int64(level.Get())), true
}

func sameMemory(t *testing.T, a, b api.Module) {
	t.Helper()
	for name := range a.ExportedMemoryDefinitions() {
		m, n := a.ExportedMemory(name), b.ExportedMemory(name)
		x, _ := m.Read(0, m.Size())
		y, _ := n.Read(0, n.Size())
		if !bytes.Equal(x, y) {
			t.Fatalf("memory %s differs", name)
		}
	}
}

func exports(m api.Module) []string {
	var names []string
	for name := range m.ExportedFunctionDefinitions() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// words says that values can be compared: references are addresses.
func words(types []api.ValueType) bool {
	for _, t := range types {
		switch t {
		case api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64:
		default:
			return false
		}
	}
	return true
}

// corpus is every module of the specification suite.
func corpus(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, s := range append(suites, suite{name: "exception-handling"}) {
		files, err := filepath.Glob(filepath.Join(suiteFolder(t, s.name), "*.wasm"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no modules in %s: %v", s.name, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
	}
	return all
}
