package sandbox

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/fault"
)

// wasiModule is the module that guests import the system from.
const wasiModule = "wasi_snapshot_preview1"

// Bounds of one call of WASI. Programs stay far below them; POSIX has the same
// bound for vectors and Linux for paths.
const (
	maxDescriptor    = 1 << 16 // the table of descriptors is as long as its largest one
	maxVectors       = 1024
	maxSubscriptions = 1024
	maxPathLength    = 4096
	maxRandom        = 16 << 20
)

// randomBytesPerFuel is how many random bytes a unit of fuel covers, as for the
// bulk operations of memory.
const randomBytesPerFuel = 32

// wasiBound bounds one parameter of a function.
type wasiBound struct {
	param int
	most  uint32
	what  string
}

// wasiBounds returns the parameters that a guest chooses and that determine how
// much the host does in one call.
func wasiBounds() map[string][]wasiBound {
	vectors := []wasiBound{{2, maxVectors, "vectors"}}
	path := func(params ...int) (all []wasiBound) {
		for _, p := range params {
			all = append(all, wasiBound{p, maxPathLength, "bytes of a path"})
		}
		return all
	}
	return map[string][]wasiBound{
		"fd_renumber": {{1, maxDescriptor, "as the number of a descriptor"}},
		"fd_read":     vectors, "fd_write": vectors, "fd_pread": vectors, "fd_pwrite": vectors,
		"sock_recv": vectors, "sock_send": vectors,
		"poll_oneoff": {{2, maxSubscriptions, "subscriptions"}},
		"random_get":  {{1, maxRandom, "random bytes"}},

		"path_create_directory": path(2), "path_filestat_get": path(3), "path_filestat_set_times": path(3),
		"path_link": path(3, 6), "path_open": path(3), "path_readlink": path(2), "path_remove_directory": path(2),
		"path_rename": path(2, 5), "path_symlink": path(1, 4), "path_unlink_file": path(2),
	}
}

// withGuards returns a context in which host functions are compiled with a guard.
// A call checks the deadline and the context of the run, since fuel does not cover
// the time of the host, and bounds what its parameters ask for. An interpreter is
// not trusted more than a plugin: a program may have corrupted it.
//
// With all false only the first module that is compiled has guards, which is WASI.
// They would change the name of the native code of a guest, and make it start
// later, since wazero asks about each of its functions.
func withGuards(ctx context.Context, all bool) context.Context {
	ctx = experimental.WithFunctionListenerFactory(ctx, guards(wasiBounds()))
	if all {
		return ctx
	}
	return &once{Context: ctx}
}

// once is a context that has a factory of listeners for one module.
type once struct {
	context.Context
	used bool
}

// Value implements context.Context.
func (o *once) Value(key any) any {
	v := o.Context.Value(key)
	if _, ok := v.(experimental.FunctionListenerFactory); ok {
		if o.used {
			return nil
		}
		o.used = true
	}
	return v
}

type guards map[string][]wasiBound

// NewFunctionListener implements experimental.FunctionListenerFactory.
func (g guards) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	switch {
	case len(def.ExportNames()) == 0:
	case def.ModuleName() == wasiModule:
		return guard{def.ExportNames()[0], g[def.ExportNames()[0]]}
	case def.ModuleName() == extismModule, def.ModuleName() == webModule:
		return guard{name: def.ExportNames()[0]}
	}
	return nil
}

// guard checks the calls of one function.
type guard struct {
	name   string
	bounds []wasiBound
}

// Before ends the run where a call asks for too much, or where the run is over.
func (g guard) Before(ctx context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
	h, ok := ctx.Value(hostKey{}).(*Host)
	if !ok {
		return
	}
	h.deadline.check(time.Now())
	h.checkContext()
	for _, b := range g.bounds {
		if n := uint32(params[b.param]); n > b.most {
			h.fail(fault.New(fault.GuestException, "%s with %d %s, at most %d are allowed", g.name, n, b.what, b.most))
		}
	}
	if g.name == "random_get" {
		h.fuel.charge(int64(uint32(params[1])) / randomBytesPerFuel)
	}
}

// After implements experimental.FunctionListener.
func (guard) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

// Abort implements experimental.FunctionListener.
func (guard) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}
