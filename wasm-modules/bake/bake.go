package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"testing/fstest"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// baker makes the artefacts of one guest.
type baker struct {
	entry   *wasmmodules.Entry
	top     string
	raw     []byte
	library []byte
}

// part is an artefact before compression.
type part struct {
	kind string
	data []byte
}

// budget is enough fuel to start any guest.
const budget = 100e9

// bake makes the parts of the guest and updates its entry in the manifest.
func (b *baker) bake(ctx context.Context) ([]part, error) {
	files, prelude, err := b.files()
	if err != nil {
		return nil, err
	}
	if err := validate(ctx, b.raw); err != nil {
		return nil, fmt.Errorf("the raw module: %w", err)
	}
	metered, info, err := meter.Rewrite(b.raw, meter.Options{})
	if err != nil {
		return nil, err
	}
	if err := allowed(info); err != nil {
		return nil, err
	}
	code, image, err := b.split(ctx, metered, files)
	if err != nil {
		return nil, err
	}
	fuel, err := b.prove(ctx, code, image, files)
	if err != nil {
		return nil, fmt.Errorf("baked guest fails its proof: %w", err)
	}
	stub, err := snapshot.Stub(code)
	if err != nil {
		return nil, err
	}
	b.entry.Raw = digested(b.raw)
	b.entry.Pages = uint64(len(image)) >> 16
	b.entry.Fuel = fuel
	b.entry.PreludeIs = prelude
	parts := []part{{"code", code}, {"image", image}, {"stub", stub}}
	if b.entry.Library != "" {
		parts = append(parts, part{"library", b.library})
	}
	return parts, nil
}

// files returns the guest's file system and a digest of its prelude.
func (b *baker) files() (fs.FS, string, error) {
	all := fstest.MapFS{}
	date := time.Unix(bakeTime, 0)
	add := func(name string, data []byte) {
		all[name] = &fstest.MapFile{Data: data, Mode: 0o444, ModTime: date}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o555, ModTime: date}
		}
	}
	all["tmp"] = &fstest.MapFile{Mode: fs.ModeDir | 0o777, ModTime: date} // where programs start
	digest := ""
	if b.entry.Prelude != "" {
		sum := sha256.New()
		source := os.DirFS(filepath.Join(b.top, filepath.FromSlash(b.entry.Prelude)))
		err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "testdata" || d.Name() == "__pycache__" {
					return fs.SkipDir
				}
				return nil
			}
			if ext := path.Ext(name); ext != ".js" && ext != ".py" {
				return nil
			}
			data, err := fs.ReadFile(source, name)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(data))
			add("prelude/"+name, data)
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		digest = hex.EncodeToString(sum.Sum(nil))
	}
	if (b.entry.Library != "") != (b.library != nil) {
		return nil, "", fmt.Errorf("the manifest says its library is %q: -library FILE has to agree", b.entry.Library)
	}
	if b.library != nil {
		add("lib/"+b.entry.Library, b.library)
	}
	return all, digest, nil
}

// validate validates the module: only valid modules can be
// metered.
func validate(ctx context.Context, module []byte) error {
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer rt.Close(ctx)
	_, err := rt.CompileModule(ctx, module)
	return err
}

// imports are the modules from which a guest may import functions.
var imports = []string{"wexec", "wasi_snapshot_preview1"}

// allowed checks the imports and exports of a guest.
func allowed(info meter.Info) error {
	for _, i := range info.Imports {
		if i.Kind != meter.Func || !slices.Contains(imports, i.Module) {
			return fmt.Errorf("it imports the %s %s.%s, which no guest may", i.Kind, i.Module, i.Name)
		}
	}
	for _, name := range []string{"memory", "_initialize", "guest_init", "guest_run"} {
		if !slices.ContainsFunc(info.Exports, func(e meter.Export) bool { return e.Name == name }) {
			return fmt.Errorf("the module does not export %s", name)
		}
	}
	return nil
}

// split starts the guest and splits it into code and image.
func (b *baker) split(ctx context.Context, metered []byte, files fs.FS) (code, image []byte, err error) {
	h, err := newHost(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	defer h.runtime.Close(ctx)
	m, err := b.started(ctx, h, metered)
	if err != nil {
		return nil, nil, err
	}
	return snapshot.Split(metered, m)
}

// started returns an instance that is ready for a run, with an empty tank.
func (b *baker) started(ctx context.Context, h *host, metered []byte) (api.Module, error) {
	c, err := h.runtime.CompileModule(ctx, metered)
	if err != nil {
		return nil, fmt.Errorf("compile the metered module: %w", err)
	}
	m, err := h.instance(ctx, c)
	if err != nil {
		return nil, err
	}
	h.tank = meter.Tank{Budget: budget}
	if err := h.initialise(ctx, m); err != nil {
		return nil, err
	}
	if b.entry.First != nil {
		if _, err := h.run(ctx, m, b.entry.First); err != nil {
			return nil, fmt.Errorf("the first run: %w", err)
		}
	}
	return m, emptyTank(m)
}

// emptyTank sets the fuel of an instance to the start value of a run.
func emptyTank(m api.Module) error {
	fuel, ok := m.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
	if !ok {
		return fmt.Errorf("it has no global %s", meter.FuelExport)
	}
	fuel.Set(0)
	return nil
}

// prove runs the proof of the manifest in two restored instances. It
// returns the fuel of a run.
func (b *baker) prove(ctx context.Context, code, image []byte, files fs.FS) (int64, error) {
	h, err := newHost(ctx, files)
	if err != nil {
		return 0, err
	}
	defer h.runtime.Close(ctx)
	c, err := h.runtime.CompileModule(ctx, code)
	if err != nil {
		return 0, err
	}
	im, err := snapshot.New(image, snapshot.Auto)
	if err != nil {
		return 0, err
	}
	var first int64
	for i := range 2 {
		m, err := h.instance(experimental.WithMemoryAllocator(ctx, im.Memory(1<<30)), c)
		if err != nil {
			return 0, err
		}
		h.tank = meter.Tank{Budget: budget}
		value, err := h.run(ctx, m, b.entry.Proof.Input)
		if err != nil {
			return 0, err
		}
		if !sameJSON(value, b.entry.Proof.Value) {
			return 0, fmt.Errorf("the proof gives %s and not %s", value, b.entry.Proof.Value)
		}
		used := h.tank.Used(int64(m.ExportedGlobal(meter.FuelExport).Get()))
		if i > 0 && used != first {
			return 0, fmt.Errorf("the proof used %d units of fuel, then %d", first, used)
		}
		first = used
		if err := m.Close(ctx); err != nil {
			return 0, err
		}
	}
	return first, im.Close()
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.NewDecoder(bytes.NewReader(a)).Decode(&x) == nil && json.NewDecoder(bytes.NewReader(b)).Decode(&y) == nil && reflect.DeepEqual(x, y)
}

func digested(data []byte) wasmmodules.Digested {
	sum := sha256.Sum256(data)
	return wasmmodules.Digested{Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}
