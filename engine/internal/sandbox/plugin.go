package sandbox

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/text"
)

// extismModule is the module that a foreign plugin imports from. The HTTP
// functions are redirected to webModule when it is metered: those of the SDK
// would pass by the policy.
const (
	extismModule = "extism:host/env"
	webModule    = "wexec:web"
)

// KernelCalls lists what a foreign plugin may import from Extism.
func KernelCalls() []string {
	return []string{
		"alloc", "free", "load_u8", "load_u64", "store_u8", "store_u64", "input_load_u8", "input_load_u64",
		"input_set", "output_set", "input_length", "input_offset", "output_length", "output_offset",
		"length", "length_unsafe", "reset", "error_set", "error_get", "memory_bytes",
		"config_get", "var_get", "var_set", "get_log_level", "log_trace", "log_debug", "log_info", "log_warn", "log_error",
		"http_request", "http_status_code", "http_headers",
	}
}

// redirected returns the modules of the calls that the SDK does not answer.
func redirected() map[string]string {
	modules := map[string]string{}
	for _, name := range KernelCalls() {
		if strings.HasPrefix(name, "http_") {
			modules[extismModule+"."+name] = webModule
		}
	}
	return modules
}

// kernelPrice is the fuel of a call of Extism's kernel, in proportion to its
// time: the SDK looks the kernel's exports up by name, 20 µs for each call.
const kernelPrice = 2000

// kernelPrices returns the prices of the calls that take so long. Words of
// eight bytes are loaded and stored without the kernel.
func kernelPrices() map[string]int64 {
	prices := map[string]int64{}
	for _, name := range KernelCalls() {
		if !strings.HasSuffix(name, "_u64") {
			prices[extismModule+"."+name] = kernelPrice
		}
	}
	prices[extismModule+".var_set"] = 5 * kernelPrice // it adds up the sizes of all variables
	return prices
}

// Plugin is a foreign Extism plugin that was checked and metered.
type Plugin struct {
	Wasm      []byte // with fuel
	Minimum   int64  // initial size of its memory
	Functions Functions
}

// CheckPlugin checks a foreign module and meters it.
func CheckPlugin(ctx context.Context, wasm []byte) (*Plugin, error) {
	// wazero allocates as many items as a file claims to have, which ends the
	// process if a few bytes claim billions. The meter trusts no count, so it
	// reads the module first. The meter does not validate, so wazero validates the
	// original after that.
	metered, info, err := meter.Rewrite(wasm, meter.Options{Start: startExport, Redirect: redirected(), Weights: meter.Weights{Hosts: kernelPrices()}})
	if err != nil {
		return nil, fault.New(fault.UsageFile, "load the plugin: %w", err)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, RuntimeConfig(true))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, wasm); err != nil {
		return nil, fault.New(fault.UsageFile, "load the plugin: %w", err)
	}
	for _, i := range info.Imports {
		switch {
		case i.Module == "wasi_snapshot_preview1":
		case i.Module == extismModule && slices.Contains(KernelCalls(), i.Name):
		default:
			return nil, fault.New(fault.UsageFile, "load the plugin: it imports %s.%s, which plugins may not import", shortName(i.Module), shortName(i.Name))
		}
	}
	p := &Plugin{Wasm: metered, Functions: Functions{}}
	for _, e := range info.Exports {
		if e.Kind == meter.Func && (e.Type == "() -> (i32)" || e.Type == "() -> ()") && !strings.HasPrefix(e.Name, "_") {
			p.Functions[e.Name] = true
		}
	}
	if info.Memory != nil {
		p.Minimum = int64(info.Memory.Min) << 16
	}
	return p, nil
}

// Functions are the functions of a plugin that can be called, by name.
type Functions map[string]bool

// Check returns usage.flag if the plugin does not have a function.
func (f Functions) Check(name string) error {
	if f[name] {
		return nil
	}
	missing := fault.New(fault.UsageFlag, "the plugin exports no function %q without parameters that returns a status", text.Clip(name, 100))
	if len(f) == 0 {
		return missing.WithHint("it exports no such function at all: it is not an Extism plugin")
	}
	all := slices.Sorted(maps.Keys(f))
	var names []string
	for _, name := range all[:min(len(all), 20)] {
		names = append(names, shortName(name))
	}
	if len(all) > 20 {
		names = append(names, "more")
	}
	hint := "it exports " + List(names)
	if near := catalogue.NearestOf(name, all[:min(len(all), 1000)]); near != "" {
		hint = "did you mean " + shortName(near) + "? " + hint
	}
	return missing.WithHint("%s", hint)
}

// pluginFault turns a fault of the sandbox into one of the plugin: what its
// author would call an exception is one here too.
func pluginFault(f *fault.Error, _ error) *fault.Error {
	message, ok := strings.CutPrefix(f.Message, "the guest failed: ")
	if !ok {
		message = strings.Replace(f.Message, "the interpreter", "the plugin", 1)
		message = strings.Replace(message, trapPrefix, "the plugin trapped: ", 1)
	}
	return fault.New(fault.GuestException, "%s", text.Clip(message, maxPluginMessage))
}

// maxPluginMessage bounds the message of a plugin's exception.
const maxPluginMessage = 16 << 10

// List joins names for a sentence: a, b and c.
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// shortName returns a name of a foreign module, short and on one line.
func shortName(name string) string { return text.Name(name, 60) }
