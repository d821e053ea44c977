package engine

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// importStubs lets a guest be instantiated where nobody will call it.
func importStubs(ctx context.Context, rt wazero.Runtime, module []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, rt); err != nil {
		return err
	}
	compiled, err := rt.CompileModule(ctx, module)
	if err != nil {
		return err
	}
	b := rt.NewHostModuleBuilder("wexec")
	for _, f := range compiled.ImportedFunctions() {
		if module, name, _ := f.Import(); module == "wexec" {
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	_, err = b.Instantiate(ctx)
	return err
}

func TestAProgramGivesItsValue(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := tiny(t, e, "o hello\nv {\"a\":1}")
	wantValue(t, res, err, `{"a":1}`)
	if res.Stdout != "hello\n" || res.Status != StatusOK || res.Usage.Fuel == 0 || res.Usage.MemoryPeak == 0 {
		t.Errorf("%+v", res)
	}
}
