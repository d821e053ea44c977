// Package tinyguest provides a guest for tests that interprets no language: its
// programs are lists of commands, see guest/guest.c. It uses every import of
// wasm-modules/ABI.md.
package tinyguest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Wasm is the module as the compiler made it, without fuel.
//
//go:embed guest/guest.wasm
var Wasm []byte

// Module returns the guest as the engine opens it: metered, and split into code
// and an image.
func Module(o meter.Options) (*wasmmodules.Module, error) { return ModuleOf(Wasm, o) }

// ModuleOf is Module for another guest.
func ModuleOf(wasm []byte, o meter.Options) (*wasmmodules.Module, error) {
	metered, _, err := meter.Rewrite(wasm, o)
	if err != nil {
		return nil, err
	}
	code, image, err := split(metered)
	if err != nil {
		return nil, err
	}
	stub, err := snapshot.Stub(code)
	if err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	files, artefacts := fstest.MapFS{}, map[string]wasmmodules.Artefact{}
	for kind, data := range map[string][]byte{"code": code, "image": image, "stub": stub} {
		sum := sha256.Sum256(data)
		files["artefacts/"+kind] = &fstest.MapFile{Data: enc.EncodeAll(data, nil)}
		artefacts[kind] = wasmmodules.Artefact{File: kind, Digested: wasmmodules.Digested{Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}}
	}
	m := &wasmmodules.Manifest{Guests: []wasmmodules.Entry{{Name: "tiny", Version: "1", Artefacts: artefacts}}}
	return wasmmodules.OpenFrom(files, m, "tiny")
}

// split instantiates a metered module, as the baker does, and splits it.
func split(metered []byte) (code, image []byte, err error) {
	ctx := context.Background()
	const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer rt.Close(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, rt); err != nil {
		return nil, nil, err
	}
	compiled, err := rt.CompileModule(ctx, metered)
	if err != nil {
		return nil, nil, err
	}
	// Nothing is called while the module is instantiated.
	b := rt.NewHostModuleBuilder("wexec")
	for _, f := range compiled.ImportedFunctions() {
		if module, name, _ := f.Import(); module == "wexec" {
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if _, err = b.Instantiate(ctx); err != nil {
		return nil, nil, err
	}
	inst, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return nil, nil, err
	}
	return snapshot.Split(metered, inst)
}
