package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

//go:embed testdata/guest/guest.wasm
var plainGuest []byte

// tinyGuest is the guest of testdata/guest as the engine opens it: metered, and
// split into code and an image.
var tinyGuest = sync.OnceValues(func() (*wasmmodules.Module, error) { return makeTiny(meter.Options{}) })

func makeTiny(o meter.Options) (*wasmmodules.Module, error) {
	metered, _, err := meter.Rewrite(plainGuest, o)
	if err != nil {
		return nil, err
	}
	code, image, err := splitModule(metered)
	if err != nil {
		return nil, err
	}
	bones, err := snapshot.Stub(code)
	if err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	files, artefacts := fstest.MapFS{}, map[string]wasmmodules.Artefact{}
	for kind, data := range map[string][]byte{"code": code, "image": image, "stub": bones} {
		packed := enc.EncodeAll(data, nil)
		sum := sha256.Sum256(data)
		files["artefacts/"+kind] = &fstest.MapFile{Data: packed}
		artefacts[kind] = wasmmodules.Artefact{File: kind, Digested: wasmmodules.Digested{Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}}
	}
	m := &wasmmodules.Manifest{Guests: []wasmmodules.Entry{{Name: "tiny", Version: "1", Artefacts: artefacts}}}
	return wasmmodules.OpenFrom(files, m, "tiny")
}

// splitModule instantiates a metered module, as the baker does, and splits it.
func splitModule(metered []byte) (code, image []byte, err error) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer rt.Close(ctx)
	if err := importStubs(ctx, rt, metered); err != nil {
		return nil, nil, err
	}
	inst, err := rt.InstantiateWithConfig(ctx, metered, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return nil, nil, err
	}
	return snapshot.Split(metered, inst)
}

// open makes an engine, on other ground where WEXEC_TEST_ON says so:
// "interpreter" is wazero's interpreter, "portable" memories that are copied
// as they are where a platform cannot map them.
func open(c Config) (*Engine, error) {
	on := os.Getenv("WEXEC_TEST_ON")
	c.Interpreter = c.Interpreter || on == "interpreter"
	e, err := New(context.Background(), c)
	if err == nil && on == "portable" {
		e.cache.memories = snapshot.Copy
	}
	return e, err
}

// onInterpreter reports whether every engine of the tests is an interpreter,
// on which times mean nothing.
func onInterpreter() bool { return os.Getenv("WEXEC_TEST_ON") == "interpreter" }

// newTiny makes an engine whose every language is the tiny guest.
func newTiny(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	e.guests.open = opens(m)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// opens gives the same module by every name.
func opens(m *wasmmodules.Module) func(string) (*wasmmodules.Module, error) {
	return func(string) (*wasmmodules.Module, error) { return m, nil }
}

// tiny runs a list of commands.
func tiny(t testing.TB, e *Engine, code string, change ...func(*Request)) (*Result, error) {
	t.Helper()
	r := Request{Language: JavaScript, Code: code}
	for _, f := range change {
		f(&r)
	}
	return e.Run(context.Background(), r)
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v (%s), not %s", err, fault.CodeOf(err), code)
	}
}

func wantValue(t testing.TB, res *Result, err error, value string) {
	t.Helper()
	if err != nil {
		t.Fatalf("the run failed: %v (%s)", err, fault.CodeOf(err))
	}
	var have, want bytes.Buffer
	if json.Compact(&have, res.Value) != nil || json.Compact(&want, []byte(value)) != nil || have.String() != want.String() {
		t.Fatalf("the value is %s, not %s", res.Value, value)
	}
}
