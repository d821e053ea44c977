package engine

import (
	"cmp"
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
)

// This file is the only one that knows Extism. What it hides: plugins keep
// their modules to themselves, and a call through the plugin costs six calls
// into Extism's kernel, about 30 µs; so the guest's entry is called directly,
// and payloads never pass through the kernel.

// wasiOutput is a name in the environment that makes Extism write what guests
// print to the process's own streams, past every limit.
const wasiOutput = "EXTISM_ENABLE_WASI_OUTPUT"

// features are what modules may use.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// compiled is a module ready to be instantiated any number of times, at once.
type compiled struct {
	plugin *extism.CompiledPlugin
	entry  string // the export that runs a program; empty for foreign plugins

	skeleton bool // its native code was found by its skeleton

	// What stands in the function tables of every instance is learnt from the
	// second: a process that makes one has nothing to gain.
	making sync.RWMutex // held to write while wazero's own way is switched off
	tables *snapshot.Tables
	made   int
	binds  atomic.Bool // instances can be given their memory later
}

// compile compiles a module, or loads it from the compilation cache.
func compile(ctx context.Context, wasm []byte, entry string, cache wazero.CompilationCache, interpreter bool) (*compiled, error) {
	rc := runtimeConfig(interpreter).WithCompilationCache(cache)
	// Manifest.Timeout stays 0: it would switch on wazero's own termination
	// checks, which cost a factor of two to six. Fuel slices do that work.
	manifest := extism.Manifest{
		Wasm:   []extism.Wasm{extism.WasmData{Data: wasm}},
		Memory: &extism.ManifestMemory{MaxHttpResponseBytes: 0, MaxVarBytes: 0},
	}
	plugin, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true, RuntimeConfig: rc}, hostFunctions())
	if err != nil {
		return nil, fault.New(fault.Internal, "compile the guest: %w", err)
	}
	return &compiled{plugin: plugin, entry: entry}, nil
}

// runtimeConfig is how every module is compiled.
func runtimeConfig(interpreter bool) wazero.RuntimeConfig {
	rc := wazero.NewRuntimeConfigCompiler()
	if interpreter {
		rc = wazero.NewRuntimeConfigInterpreter()
	}
	return rc.WithCoreFeatures(features).WithDebugInfoEnabled(false)
}

// Close gives the compiled code back. No instance may be left.
func (c *compiled) Close(ctx context.Context) error { return c.plugin.Close(ctx) }

// spareSpace is the address space that is left to Go where the process may have
// only so much: to have none is its end.
const spareSpace = 128 << 20

// instance is one live sandbox. It serves one run at a time.
type instance struct {
	binding
	plugin *extism.Plugin
	main   api.Module
	entry  api.Function
	fuel   api.MutableGlobal
	mems   memories
	broken bool          // a run in it did not come to its end
	served time.Duration // how long the runs in it took

	tables    *snapshot.Tables // what its function tables were filled from; nil: wazero did it
	functions *[]uint64        // what they point to, as long as it lives
}

// instantiate makes a fresh instance whose memory comes from mem and may be
// limit bytes; fs are the file systems it sees, by the folder they are at.
func (c *compiled) instantiate(ctx context.Context, mem *snapshot.Allocator, limit int64, l *ledger) (*instance, error) {
	if _, set := os.LookupEnv(wasiOutput); set {
		return nil, fault.New(fault.UsageConfig, "%s is set, and would let programs write past their limits", wasiOutput).
			WithHint("unset it")
	}
	i := &instance{mems: memories{from: mem, ledger: l, limit: limit, whole: c.entry == ""}}
	config := wazero.NewModuleConfig().
		WithStdin(&i.stdin).WithStdout(&i.stdout).WithStderr(&i.stderr).
		WithWalltime(i.walltime, 1).WithNanotime(i.nanotime, 1).
		WithNanosleep(i.nanosleep).WithOsyield(func() {}).
		WithRandSource(&i.random).
		WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(&i.files, "/"))
	i.stdin.of, i.stdout.of, i.stderr.of, i.random.of, i.files.of = &i.binding, &i.binding, &i.binding, &i.binding, &i.binding
	i.stderr.err = true
	if _, limited := snapshot.AddressSpaceLeft(); limited {
		l.narrow.Lock()
		defer l.narrow.Unlock()
		if left, _ := snapshot.AddressSpaceLeft(); left < 2*uint64(limit)+spareSpace {
			return nil, fault.New(fault.LimitBusy, "the %s of address space that this process may still have are too few for one more instance", size(int64(left))).
				WithHint("try again when other runs have ended, allow more with ulimit -v, or set Running to less")
		}
	}
	c.making.RLock()
	i.tables = c.tables
	plugin, err := c.plugin.Instance(experimental.WithMemoryAllocator(ctx, &i.mems), extism.PluginInstanceConfig{ModuleConfig: config})
	c.making.RUnlock()
	if err != nil {
		return nil, fault.New(fault.Internal, "make an instance: %w", err)
	}
	i.plugin = plugin
	if err := i.look(c.entry); err != nil {
		plugin.Close(ctx)
		return nil, err
	}
	if i.tables == nil {
		c.learn(i.main)
	}
	l.add(instanceShare)
	return i, nil
}

// look finds what the engine needs inside a new instance.
func (i *instance) look(entry string) (err error) {
	main, ok := snapshot.Field[api.Module](i.plugin, "mainModule")
	if !ok {
		return fault.New(fault.Internal, "the Extism SDK keeps its module elsewhere than in 1.7.1")
	}
	i.main = main
	if i.tables != nil {
		if i.functions, ok = i.tables.Fill(main); !ok {
			return fault.New(fault.Internal, "the tables of the instance are not those of its module")
		}
	}
	if i.fuel, ok = main.ExportedGlobal(meter.FuelExport).(api.MutableGlobal); !ok {
		return fault.New(fault.Internal, "the module is not metered")
	}
	if entry != "" {
		if i.entry = main.ExportedFunction(entry); i.entry == nil {
			return fault.New(fault.Internal, "the guest does not export %s", entry)
		}
	}
	return nil
}

// learn learns what the tables of all instances hold from a fresh one.
func (c *compiled) learn(main api.Module) {
	c.making.Lock()
	defer c.making.Unlock()
	c.binds.Store(snapshot.CanBind(main))
	if c.made++; c.made == 2 {
		c.tables = snapshot.LearnTables(main)
	}
}

// call runs the entry once, for the run that is bound. Its error is what
// [trapped] reads.
func (i *instance) call(r *run) error {
	begun := time.Now()
	defer func() { i.served += time.Since(begun) }()
	var stack [1]uint64
	ctx := context.WithValue(r.ctx, runKey{}, r)
	ctx = context.WithValue(ctx, extism.PluginCtxKey("plugin"), i.plugin)
	if err := i.entry.CallWithStack(ctx, stack[:]); err != nil {
		return err
	}
	if status := int32(uint32(stack[0])); status != 0 {
		return fault.New(fault.Internal, "the interpreter failed with status %d", status)
	}
	return nil
}

// startExport is the name under which a foreign plugin's start function is
// called: not while it is loaded, but at the beginning of the run, which pays
// for it and ends it where it goes on for too long.
const startExport = "wexec_start"

// callFunction calls a function of a foreign plugin through Extism's own
// protocol: input and output pass through its kernel.
func (i *instance) callFunction(r *run, name string, input []byte) (status uint32, output []byte, err error) {
	ctx := context.WithValue(r.ctx, runKey{}, r)
	if start := i.main.ExportedFunction(startExport); start != nil {
		kernel, ok := snapshot.Field[api.Module](i.plugin, "extism")
		if !ok {
			return 0, nil, fault.New(fault.Internal, "the Extism SDK keeps its kernel elsewhere than in 1.7.1")
		}
		within := context.WithValue(context.WithValue(ctx, extism.PluginCtxKey("plugin"), i.plugin), extism.PluginCtxKey("extism"), kernel)
		if _, err := start.Call(within); err != nil {
			return 0, nil, err
		}
	}
	status, output, err = i.plugin.CallWithContext(ctx, name, input)
	if f := cmp.Or(r.stopped, i.mems.stopped); err != nil && f != nil {
		err = &stop{f} // Extism makes text of what ends an initialiser
	}
	return status, output, err
}

// Close ends the instance. Nothing may run in it.
func (i *instance) Close(ctx context.Context) error {
	i.mems.armed = false
	if i.broken {
		i.mems.from.DoNotReuse() // nobody else gets its memory
	}
	err := i.plugin.Close(ctx)
	if i.functions != nil {
		i.tables.Release(i.functions)
		i.functions = nil
	}
	i.mems.ledger.add(-instanceShare)
	return err
}

// runKey finds the run in the context of a call.
type runKey struct{}

// hostFunctions are the imports of module wexec, see wasm-modules/ABI.md.
func hostFunctions() []extism.HostFunction {
	const i32, i64 = extism.ValueTypeI32, extism.ValueTypeI64
	type types = []extism.ValueType
	function := func(name string, params, results types, f func(r *run, s []uint64)) extism.HostFunction {
		h := extism.NewHostFunctionWithStack(name, func(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
			f(ctx.Value(runKey{}).(*run), stack)
		}, params, results)
		h.SetNamespace("wexec")
		return h
	}
	u32 := func(v uint64) uint32 { return uint32(v) }
	return []extism.HostFunction{
		function("refill", types{i64}, types{i64}, func(r *run, s []uint64) {
			s[0] = uint64(r.refill(int64(s[0])))
		}),
		function("input_size", nil, types{i32}, func(r *run, s []uint64) {
			s[0] = uint64(uint32(len(r.input)))
		}),
		function("input_read", types{i32, i32}, types{i32}, func(r *run, s []uint64) {
			s[0] = uint64(uint32(r.inputRead(u32(s[0]), u32(s[1]))))
		}),
		function("call_start", types{i32, i32, i32, i32}, types{i64}, func(r *run, s []uint64) {
			s[0] = uint64(r.callStart(u32(s[0]), u32(s[1]), u32(s[2]), u32(s[3])))
		}),
		function("call_wait", types{i64, i64}, types{i64}, func(r *run, s []uint64) {
			s[0] = uint64(r.callWait(int64(s[0]), int64(s[1])))
		}),
		function("answer_size", types{i64}, types{i64}, func(r *run, s []uint64) {
			s[0] = uint64(r.answerSize(int64(s[0])))
		}),
		function("answer_read", types{i64, i32, i32}, types{i32}, func(r *run, s []uint64) {
			s[0] = uint64(uint32(r.answerRead(int64(s[0]), u32(s[1]), u32(s[2]))))
		}),
		function("call_cancel", types{i64}, nil, func(r *run, s []uint64) {
			r.callCancel(int64(s[0]))
		}),
		function("finish", types{i32, i32, i32}, nil, func(r *run, s []uint64) {
			r.finish(u32(s[0]), u32(s[1]), u32(s[2]))
		}),
	}
}
