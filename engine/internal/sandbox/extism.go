package sandbox

import (
	"cmp"
	"context"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/internal/units"
)

// This is the only file that imports Extism. A plugin hides its module, and a
// call through it costs six calls into Extism's kernel, about 30 µs. So the
// guest's entry is called directly, and data does not pass through the kernel.

// wasiOutput is an environment variable with which Extism writes what guests
// print to the streams of the process, past every limit.
const wasiOutput = "EXTISM_ENABLE_WASI_OUTPUT"

// EntryPoint is the export of every guest that runs one program.
const EntryPoint = "guest_run"

// startExport is the name under which the start function of a foreign plugin is
// exported. It is called at the beginning of a run, which pays for it.
const startExport = "wexec_start"

// Features are the WebAssembly features that modules may use.
const Features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// Module is a compiled module. Any number of instances may be made of it at
// once.
type Module struct {
	plugin *extism.CompiledPlugin
	entry  string // export that runs a program; empty: a foreign plugin

	// The function tables of later instances are copied from the second one: a
	// process that makes one instance gains nothing.
	making  sync.RWMutex // held to write while wazero's own way is switched off
	tables  *snapshot.Tables
	made    int
	canBind atomic.Bool // instances can be given their memory later
}

// maxVars bounds the variables of a foreign plugin, in bytes with their names.
const maxVars = 64 << 10

// Compile compiles a module, or loads its code from the cache. An empty entry
// is a foreign plugin.
func Compile(ctx context.Context, wasm []byte, entry string, cache wazero.CompilationCache, interpreter bool) (*Module, error) {
	// Manifest.Timeout stays 0: it would switch on wazero's own termination
	// checks, which cost a factor of two to six. Fuel slices do that work.
	manifest := extism.Manifest{
		Wasm:   []extism.Wasm{extism.WasmData{Data: wasm}},
		Memory: &extism.ManifestMemory{MaxHttpResponseBytes: 0, MaxVarBytes: maxVars},
	}
	functions := hostFunctions()
	if entry == "" {
		functions = append(functions, webFunctions()...)
	}
	ctx = withGuards(ctx, entry == "")
	config := extism.PluginConfig{EnableWasi: true, RuntimeConfig: RuntimeConfig(interpreter).WithCompilationCache(cache)}
	plugin, err := extism.NewCompiledPlugin(ctx, manifest, config, functions)
	if err != nil {
		return nil, fault.New(fault.Internal, "compile the guest: %w", err)
	}
	return &Module{plugin: plugin, entry: entry}, nil
}

// RuntimeConfig returns the configuration that every module is compiled with.
func RuntimeConfig(interpreter bool) wazero.RuntimeConfig {
	rc := wazero.NewRuntimeConfigCompiler()
	if interpreter {
		rc = wazero.NewRuntimeConfigInterpreter()
	}
	return rc.WithCoreFeatures(Features).WithDebugInfoEnabled(false)
}

// WithWorkers makes wazero compile on every processor.
func WithWorkers(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
}

// Close frees the code. No instance may be left.
func (m *Module) Close(ctx context.Context) error { return m.plugin.Close(ctx) }

// TablesLearned reports whether function tables are copied.
func (m *Module) TablesLearned() bool { return m.tables != nil }

// Instance is one sandbox. It serves one run at a time.
type Instance struct {
	binding
	plugin  *extism.Plugin
	main    api.Module
	entry   api.Function
	fuel    api.MutableGlobal
	mems    memories
	library experimentalsys.FS // at /lib; nil: none
	broken  bool               // a run in it did not end normally
	served  time.Duration      // time of all runs in it

	tables    *snapshot.Tables // that its function tables were copied from; nil: wazero filled them
	functions *[]uint64        // what they point to
}

// reservedSpace is the address space that is left to Go if the process has a
// bound on it: without any, it crashes.
const reservedSpace = 128 << 20

// instantiate makes an instance whose memory comes from mem and may grow to
// limit bytes.
func (m *Module) instantiate(ctx context.Context, mem *snapshot.Allocator, limit int64, l *Ledger) (*Instance, error) {
	if _, set := os.LookupEnv(wasiOutput); set {
		return nil, fault.New(fault.UsageConfig, "%s is set, which lets programs write past their limits", wasiOutput).
			WithHint("unset it")
	}
	i := &Instance{mems: memories{from: mem, ledger: l, limit: limit, charged: m.entry == ""}}
	config := wazero.NewModuleConfig().
		WithStdin(readerFunc(i.readStdin)).WithStdout(writerFunc(i.writeStdout)).WithStderr(writerFunc(i.writeStderr)).
		WithWalltime(i.walltime, 1).WithNanotime(i.nanotime, 1).
		WithNanosleep(i.nanosleep).WithOsyield(func() {}).
		WithRandSource(readerFunc(i.readRandom)).
		WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(world.FileHandler(i.fileOp), "/"))
	if _, limited := snapshot.AddressSpaceLeft(); limited {
		l.making.Lock()
		defer l.making.Unlock()
		if left, _ := snapshot.AddressSpaceLeft(); left < 2*uint64(limit)+reservedSpace {
			return nil, fault.New(fault.LimitBusy, "the %s of address space left to this process do not suffice for another instance", units.FormatSize(int64(left))).
				WithHint("try again when other runs have ended, allow more with ulimit -v, or set Running to less")
		}
	}
	m.making.RLock()
	i.tables = m.tables
	plugin, err := m.plugin.Instance(experimental.WithMemoryAllocator(ctx, &i.mems), extism.PluginInstanceConfig{ModuleConfig: config})
	m.making.RUnlock()
	if err != nil {
		if m.entry == "" {
			return nil, fault.New(fault.UsageFile, "load the plugin: %w", err)
		}
		return nil, fault.New(fault.Internal, "make an instance: %w", err)
	}
	i.plugin = plugin
	if err := i.inspect(m.entry); err != nil {
		plugin.Close(ctx)
		return nil, err
	}
	if i.tables == nil {
		m.learnTables(i.main)
	}
	l.add(InstanceShare)
	return i, nil
}

// learnTables learns the content of the function tables from an instance.
func (m *Module) learnTables(main api.Module) {
	m.making.Lock()
	defer m.making.Unlock()
	m.canBind.Store(snapshot.CanBind(main))
	if m.made++; m.made == 2 {
		m.tables = snapshot.LearnTables(main)
	}
}

// inspect finds what the engine needs inside a new instance.
func (i *Instance) inspect(entry string) (err error) {
	main, ok := snapshot.Field[api.Module](i.plugin, "mainModule")
	if !ok {
		return fault.New(fault.Internal, "the Extism SDK does not have its module where version 1.7.1 has it")
	}
	i.main = main
	if i.tables != nil {
		if i.functions, ok = i.tables.Fill(main); !ok {
			return fault.New(fault.Internal, "the tables of the instance do not fit its module")
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

// hostKey finds the host in the context of a call.
type hostKey struct{}

// context returns the context in which functions of the instance are called.
func (i *Instance) context(h *Host) context.Context {
	return context.WithValue(context.WithValue(h.ctx, hostKey{}, h), extism.PluginCtxKey("plugin"), i.plugin)
}

// callEntry runs the entry once. Its error is for trapFault.
func (i *Instance) callEntry(h *Host) error {
	var stack [1]uint64
	if err := i.entry.CallWithStack(i.context(h), stack[:]); err != nil {
		return err
	}
	if status := int32(uint32(stack[0])); status != 0 {
		return fault.New(fault.Internal, "the interpreter failed with status %d", status)
	}
	return nil
}

// callFunction calls a function of a foreign plugin through Extism's protocol:
// input and output pass through its kernel.
func (i *Instance) callFunction(h *Host, name string, input []byte, config map[string]string) (output []byte, err error) {
	i.plugin.Config = config
	if start := i.main.ExportedFunction(startExport); start != nil {
		kernel, ok := snapshot.Field[api.Module](i.plugin, "extism")
		if !ok {
			return nil, fault.New(fault.Internal, "the Extism SDK does not have its kernel where version 1.7.1 has it")
		}
		if _, err := start.Call(context.WithValue(i.context(h), extism.PluginCtxKey("extism"), kernel)); err != nil {
			return nil, err
		}
	}
	status, output, err := i.plugin.CallWithContext(context.WithValue(h.ctx, hostKey{}, h), name, input)
	if err == nil && status != 0 {
		err = fault.New(fault.GuestException, "the function returned the status %d", status)
	} else if f := cmp.Or(h.stopped, i.mems.stopped); err != nil && f != nil {
		err = &stop{f} // Extism turns what ends an initialiser into text
	}
	return output, err
}

// hostFunctions returns the imports of module wexec, see wasm-modules/ABI.md.
func hostFunctions() []extism.HostFunction {
	const i32, i64 = extism.ValueTypeI32, extism.ValueTypeI64
	type types = []extism.ValueType
	function := func(name string, params, results types, f func(h *Host, s []uint64)) extism.HostFunction {
		fn := extism.NewHostFunctionWithStack(name, func(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
			f(ctx.Value(hostKey{}).(*Host), stack)
		}, params, results)
		fn.SetNamespace("wexec")
		return fn
	}
	u32 := func(v uint64) uint32 { return uint32(v) }
	return []extism.HostFunction{
		function("refill", types{i64}, types{i64}, func(h *Host, s []uint64) { s[0] = uint64(h.refill(int64(s[0]))) }),
		function("input_size", nil, types{i32}, func(h *Host, s []uint64) { s[0] = uint64(uint32(len(h.Input))) }),
		function("input_read", types{i32, i32}, types{i32}, func(h *Host, s []uint64) {
			s[0] = uint64(uint32(h.inputRead(u32(s[0]), u32(s[1]))))
		}),
		function("call_start", types{i32, i32, i32, i32}, types{i64}, func(h *Host, s []uint64) {
			s[0] = uint64(h.callStart(u32(s[0]), u32(s[1]), u32(s[2]), u32(s[3])))
		}),
		function("call_wait", types{i64, i64}, types{i64}, func(h *Host, s []uint64) {
			s[0] = uint64(h.callWait(int64(s[0]), int64(s[1])))
		}),
		function("answer_size", types{i64}, types{i64}, func(h *Host, s []uint64) { s[0] = uint64(h.answerSize(int64(s[0]))) }),
		function("answer_read", types{i64, i32, i32}, types{i32}, func(h *Host, s []uint64) {
			s[0] = uint64(uint32(h.answerRead(int64(s[0]), u32(s[1]), u32(s[2]))))
		}),
		function("call_cancel", types{i64}, nil, func(h *Host, s []uint64) { h.callCancel(int64(s[0])) }),
		function("finish", types{i32, i32, i32}, nil, func(h *Host, s []uint64) { h.finish(u32(s[0]), u32(s[1]), u32(s[2])) }),
	}
}

// webFunctions returns the functions of Extism that make HTTP requests.
func webFunctions() []extism.HostFunction {
	const i32, i64 = extism.ValueTypeI32, extism.ValueTypeI64
	type types = []extism.ValueType
	function := func(name string, params, results types, f func(h *Host, k kernel, s []uint64)) extism.HostFunction {
		fn := extism.NewHostFunctionWithStack(name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			f(ctx.Value(hostKey{}).(*Host), extismKernel{ctx, p}, stack)
		}, params, results)
		fn.SetNamespace(webModule)
		return fn
	}
	return []extism.HostFunction{
		function("http_request", types{i64, i64}, types{i64}, func(h *Host, k kernel, s []uint64) { s[0] = h.httpRequest(k, s[0], s[1]) }),
		function("http_status_code", nil, types{i32}, func(h *Host, _ kernel, s []uint64) { s[0] = uint64(h.web.status) }),
		function("http_headers", nil, types{i64}, func(h *Host, k kernel, s []uint64) { s[0] = h.httpHeaders(k) }),
	}
}

// extismKernel is the memory of Extism's kernel during a call of a host function.
type extismKernel struct {
	ctx    context.Context
	plugin *extism.CurrentPlugin
}

func (k extismKernel) block(offset uint64) ([]byte, error) {
	n, err := k.plugin.LengthWithContext(k.ctx, offset)
	if err != nil {
		return nil, err
	}
	data, ok := k.plugin.Memory().Read(uint32(offset), uint32(n))
	if !ok || offset+n > math.MaxUint32 {
		return nil, boundsFault()
	}
	return data, nil
}

func (k extismKernel) make(data []byte) (uint64, error) {
	offset, err := k.plugin.AllocWithContext(k.ctx, uint64(len(data)))
	if err == nil && !k.plugin.Memory().Write(uint32(offset), data) {
		err = boundsFault()
	}
	return offset, err
}

func (k extismKernel) free(offset uint64) error { return k.plugin.FreeWithContext(k.ctx, offset) }
