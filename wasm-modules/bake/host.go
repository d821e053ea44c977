package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/internal/meter"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// features are the WebAssembly features of guests, as in the engine.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// bakeTime is the time in every image, in seconds.
const bakeTime = 1767225600 // 2026-01-01T00:00:00Z

// host is the deterministic host of a guest while it is baked.
type host struct {
	runtime wazero.Runtime
	files   fs.FS

	tank    meter.Tank
	input   []byte
	answer  []byte // answer of every host call; nil: calls fail
	calls   int64  // host calls so far
	outcome int    // kind of the last outcome; -1: none
	value   []byte
	stdout  bytes.Buffer
	stderr  bytes.Buffer
}

var errFuel = errors.New("the guest used up its fuel")

func newHost(ctx context.Context, files fs.FS) (*host, error) {
	h := &host{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features)), files: files}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, h.runtime); err != nil {
		return nil, err
	}
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type types = []api.ValueType
	b := h.runtime.NewHostModuleBuilder("wexec")
	def := func(name string, params, results types, f func(mem api.Memory, s []uint64)) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, s []uint64) {
			f(m.Memory(), s)
		}), params, results).Export(name)
	}
	def("refill", types{i64}, types{i64}, func(_ api.Memory, s []uint64) {
		next, ok := h.tank.Refill(int64(s[0]))
		if !ok {
			panic(errFuel)
		}
		s[0] = uint64(next)
	})
	def("input_size", nil, types{i32}, func(_ api.Memory, s []uint64) { s[0] = uint64(len(h.input)) })
	def("input_read", types{i32, i32}, types{i32}, func(mem api.Memory, s []uint64) {
		n := min(uint64(uint32(s[1])), uint64(len(h.input)))
		if !mem.Write(uint32(s[0]), h.input[:n]) {
			panic(errors.New("the input does not fit where the guest wants it"))
		}
		s[0] = n
	})
	def("finish", types{i32, i32, i32}, nil, func(mem api.Memory, s []uint64) {
		data, ok := mem.Read(uint32(s[1]), uint32(s[2]))
		if !ok {
			panic(errors.New("the outcome lies outside the guest's memory"))
		}
		h.outcome, h.value = int(uint32(s[0])), bytes.Clone(data)
	})
	// Calls fail while a guest is baked; while its costs are
	// measured every call is answered at once.
	def("call_start", types{i32, i32, i32, i32}, types{i64}, func(_ api.Memory, s []uint64) {
		if h.answer == nil {
			panic(errors.New("the guest calls a tool while it is baked"))
		}
		h.calls++
		s[0] = uint64(h.calls)
	})
	def("call_wait", types{i64, i64}, types{i64}, func(_ api.Memory, s []uint64) {
		if s[0] == 0 {
			s[0] = uint64(h.calls)
		}
		if h.answer == nil {
			s[0] = ^uint64(0)
		}
	})
	def("answer_size", types{i64}, types{i64}, func(_ api.Memory, s []uint64) {
		if s[0] = uint64(len(h.answer)); h.answer == nil {
			s[0] = ^uint64(0)
		}
	})
	def("answer_read", types{i64, i32, i32}, types{i32}, func(mem api.Memory, s []uint64) {
		n := min(uint64(uint32(s[2])), uint64(len(h.answer)))
		if !mem.Write(uint32(s[1]), h.answer[:n]) {
			panic(errors.New("the answer does not fit where the guest wants it"))
		}
		s[0] = n
	})
	def("call_cancel", types{i64}, nil, func(api.Memory, []uint64) {})
	if _, err := b.Instantiate(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// seed is a fixed stream of bytes.
type seed struct{ r *rand.ChaCha8 }

func newSeed() io.Reader {
	return seed{rand.NewChaCha8([32]byte([]byte("wexec bakes every guest the same")))}
}

func (s seed) Read(p []byte) (int, error) { return s.r.Read(p) }

// instance makes an instance of a module in the deterministic host.
func (h *host) instance(ctx context.Context, c wazero.CompiledModule) (api.Module, error) {
	var ticks int64
	return h.runtime.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(&h.stdout).WithStderr(&h.stderr).
		WithWalltime(func() (int64, int32) { return bakeTime, 0 }, sys.ClockResolution(1)).
		// The clock is almost constant, and ends where every run starts.
		WithNanotime(func() int64 {
			ticks = min(ticks+1, int64(wasmmodules.BakeNanotime))
			return ticks
		}, sys.ClockResolution(1)).
		WithNanosleep(func(int64) {}).WithOsyield(func() {}).
		WithRandSource(newSeed()).
		WithFSConfig(wazero.NewFSConfig().WithFSMount(h.files, "/")))
}

// run gives a guest an input document and returns its value.
func (h *host) run(ctx context.Context, m api.Module, input []byte) ([]byte, error) {
	h.input, h.outcome, h.value = input, -1, nil
	f := m.ExportedFunction("guest_run")
	if f == nil {
		return nil, errors.New("it does not export guest_run")
	}
	r, err := f.Call(ctx)
	if err != nil {
		return nil, fmt.Errorf("run a program: %w%s", err, h.said())
	}
	if int32(r[0]) != 0 || h.outcome != 0 {
		return nil, fmt.Errorf("run a program: status %d, outcome %d: %s%s", int32(r[0]), h.outcome, h.value, h.said())
	}
	return h.value, nil
}

// said returns what the guest printed, for errors.
func (h *host) said() string {
	if h.stdout.Len()+h.stderr.Len() == 0 {
		return ""
	}
	return "\nit printed:\n" + h.stdout.String() + h.stderr.String()
}

// initialise calls the initializers.
func (h *host) initialise(ctx context.Context, m api.Module) error {
	for _, name := range []string{"_initialize", "guest_init"} {
		f := m.ExportedFunction(name)
		if f == nil {
			return fmt.Errorf("the module does not export %s", name)
		}
		r, err := f.Call(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w%s", name, err, h.said())
		}
		if len(r) > 0 && int32(r[0]) != 0 {
			return fmt.Errorf("%s: status %d%s", name, int32(r[0]), h.said())
		}
	}
	if h.stderr.Len()+h.stdout.Len() > 0 {
		fmt.Fprintf(os.Stderr, "bake: the guest printed while it started:%s\n", h.said())
	}
	return nil
}
