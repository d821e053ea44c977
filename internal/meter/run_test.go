package meter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wexec/wexec/internal/meter"
)

var errNoFuel = errors.New("no fuel")

var engines = []struct {
	name   string
	config wazero.RuntimeConfig
}{
	{"compiler", wazero.NewRuntimeConfigCompiler()},
	{"interpreter", wazero.NewRuntimeConfigInterpreter()},
}

// bench holds one compiled module and a host for it.
type bench struct {
	t       testing.TB
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

type tankKey struct{}

// setUp compiles a module as it is.
func setUp(t testing.TB, config wazero.RuntimeConfig, module []byte) *bench {
	t.Helper()
	ctx := context.Background()
	b := &bench{t: t, runtime: wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(allFeatures))}
	t.Cleanup(func() { b.runtime.Close(ctx) })
	_, err := b.runtime.NewHostModuleBuilder(meter.RefillModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			level, ok := ctx.Value(tankKey{}).(*meter.Tank).Refill(int64(stack[0]))
			if !ok {
				panic(errNoFuel)
			}
			stack[0] = uint64(level)
		}), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meter.RefillName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.runtime.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithFunc(func(x int32) int32 { return 2 * x }).Export("double").
		NewFunctionBuilder().WithFunc(func() {}).Export("free").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if b.code, err = b.runtime.CompileModule(ctx, module); err != nil {
		t.Fatal(err)
	}
	return b
}

// outcome is what a run shows.
type outcome struct {
	value int32
	err   string // without its trace
	fuel  int64
	noGas bool
}

// run calls run(arg) in a fresh instance with a tank.
func (b *bench) run(arg int32, tank *meter.Tank) outcome {
	b.t.Helper()
	ctx := context.WithValue(context.Background(), tankKey{}, tank)
	module, err := b.runtime.InstantiateModule(ctx, b.code, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return outcome{err: reason(err), noGas: errors.Is(err, errNoFuel)}
	}
	defer module.Close(ctx)
	var o outcome
	results, err := module.ExportedFunction("run").Call(ctx, api.EncodeI32(arg))
	if err == nil {
		o.value = api.DecodeI32(results[0])
	}
	o.err, o.noGas = reason(err), errors.Is(err, errNoFuel)
	if g := module.ExportedGlobal(meter.FuelExport); g != nil {
		level := int64(g.Get())
		o.fuel = tank.Used(level)
		o.noGas = o.noGas || !tank.Settle(level)
	}
	return o
}

func metered(t testing.TB, p program) []byte {
	t.Helper()
	out, _, err := meter.Rewrite(p.bytes(), programOptions)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return out
}

var programOptions = meter.Options{Weights: meter.Weights{Hosts: map[string]int64{"env.free": 0}}}
