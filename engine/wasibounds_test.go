package engine

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/timing"
)

// signed is a number in signed LEB128.
func signed(n int64) (out []byte) {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func words32(values ...uint32) (out []byte) {
	for _, v := range values {
		out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return out
}

// wasiTypes are the functions of WASI with their parameters: w has 32 bits, d 64.
var wasiTypes = []struct{ name, params string }{
	{"args_get", "ww"}, {"args_sizes_get", "ww"}, {"environ_get", "ww"}, {"environ_sizes_get", "ww"}, {"clock_res_get", "ww"},
	{"clock_time_get", "wdw"}, {"fd_advise", "wddw"}, {"fd_allocate", "wdd"}, {"fd_close", "w"}, {"fd_datasync", "w"},
	{"fd_fdstat_get", "ww"}, {"fd_fdstat_set_flags", "ww"}, {"fd_filestat_get", "ww"}, {"fd_filestat_set_size", "wd"},
	{"fd_filestat_set_times", "wddw"}, {"fd_pread", "wwwdw"}, {"fd_prestat_get", "ww"}, {"fd_prestat_dir_name", "www"},
	{"fd_pwrite", "wwwdw"}, {"fd_read", "wwww"}, {"fd_readdir", "wwwdw"}, {"fd_renumber", "ww"}, {"fd_seek", "wdww"},
	{"fd_sync", "w"}, {"fd_tell", "ww"}, {"fd_write", "wwww"}, {"path_create_directory", "www"}, {"path_filestat_get", "wwwww"},
	{"path_filestat_set_times", "wwwwddw"}, {"path_link", "wwwwwww"}, {"path_open", "wwwwwddww"}, {"path_readlink", "wwwwww"},
	{"path_remove_directory", "www"}, {"path_rename", "wwwwww"}, {"path_symlink", "wwwww"}, {"path_unlink_file", "www"},
	{"poll_oneoff", "wwww"}, {"proc_raise", "w"}, {"random_get", "ww"}, {"sched_yield", ""}, {"sock_accept", "www"},
	{"sock_recv", "wwwwww"}, {"sock_send", "wwwww"}, {"sock_shutdown", "ww"},
}

// wasiPlugin returns a plugin with some memory whose function f calls a WASI function
// over and over. Parameters that are missing in params are 0.
func wasiPlugin(name, types string, params []uint64, memory []byte) []byte {
	kinds := []byte{2, 0x60, 0, 1, 0x7f, 0x60, byte(len(types))}
	var code []byte
	for i, c := range types {
		var v uint64
		if i < len(params) {
			v = params[i]
		}
		if c == 'w' {
			kinds, code = append(kinds, 0x7f), append(append(code, 0x41), signed(int64(int32(v)))...)
		} else {
			kinds, code = append(kinds, 0x7e), append(append(code, 0x42), signed(int64(v))...)
		}
	}
	kinds = append(kinds, 1, 0x7f)
	imports := append([]byte{1, byte(len("wasi_snapshot_preview1"))}, "wasi_snapshot_preview1"...)
	imports = append(append(append(imports, byte(len(name))), name...), 0, 1)
	loop := append(append([]byte{0x03, 0x40}, code...), 0x10, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0)
	data := binary.AppendUvarint([]byte{1, 0, 0x41, 0, 0x0b}, uint64(len(memory)))
	return wasmModule(section(1, kinds), section(2, imports), section(3, []byte{1, 0}), section(5, []byte{1, 0, 1}),
		section(7, []byte{1, 1, 'f', 0, 1}), section(10, []byte{1}, body(loop...)), section(11, append(data, memory...)))
}

// FuzzPluginCallsOfWASI calls WASI with any parameters and memory: the run ends in
// time by a limit or an exception, and the host allocates little.
func FuzzPluginCallsOfWASI(f *testing.F) {
	e, err := New(f.Context(), Config{Ready: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = e.Close() })
	for i := 0; i < len(wasiTypes); i += 7 {
		f.Add(uint8(i), words32(1, 0, 8, 0, 1, 0), []byte("/tmp\x00a/b"))
		f.Add(uint8(i+3), words32(3, 0, 0, 0, 1<<31-1, 0, 1<<31-1, 0, 1<<31-1), words32(0, 1<<31-1, 4, 60_000))
	}
	file := filepath.Join(f.TempDir(), "plugin.wasm")
	f.Fuzz(func(t *testing.T, which uint8, args, memory []byte) {
		function := wasiTypes[int(which)%len(wasiTypes)]
		var params []uint64
		for len(args) >= 8 {
			params, args = append(params, binary.LittleEndian.Uint64(args)), args[8:]
		}
		module := wasiPlugin(function.name, function.params, params, memory[:min(len(memory), 4096)])
		if err := os.WriteFile(file, module, 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := e.Run(t.Context(), Request{Plugin: file, Function: "f", Limits: Limits{Time: 200 * time.Millisecond, Fuel: 200_000}})
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if code := fault.CodeOf(err); err == nil || code == fault.Internal {
			t.Errorf("%s %v: %v", function.name, params, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 || took > 2*time.Second {
			t.Errorf("%s %v: %d MiB in %v", function.name, params, n>>20, took)
		}
	})
}

func TestAPluginsCallsOfWASIAreBounded(t *testing.T) {
	e := newTiny(t, Config{})
	for name, c := range map[string]struct {
		function, types string
		params          []uint64
	}{
		"a descriptor far away":   {"fd_renumber", "ww", []uint64{0, 0x7fffffff}},
		"many random bytes":       {"random_get", "ww", []uint64{0, 500_000_000}},
		"many vectors to write":   {"fd_write", "wwww", []uint64{1, 0, 8_000_000, 0}},
		"many vectors to read":    {"fd_read", "wwww", []uint64{0, 0, 8_000_000, 0}},
		"many subscriptions":      {"poll_oneoff", "wwww", []uint64{0, 0, 1_200_000, 0}},
		"a long path":             {"path_unlink_file", "www", []uint64{3, 0, 60_000}},
		"a long path to a folder": {"path_create_directory", "www", []uint64{3, 0, 60_000}},
	} {
		var before, after runtime.MemStats
		timing.Within(t, time.Second, name, func() time.Duration {
			runtime.ReadMemStats(&before)
			defer runtime.ReadMemStats(&after)
			return timing.Of(func() {
				_, err := plugin(t, e, "f", "", pluginFile(t, wasiPlugin(c.function, c.types, c.params, nil)), limited(Limits{Time: 20 * time.Second}))
				wantCode(t, err, fault.GuestException)
			})
		})
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d MiB", name, n>>20)
		}
	}
}

func TestAPluginThatOnlyCallsWASIIsStopped(t *testing.T) {
	e := newTiny(t, Config{})
	random := wasiPlugin("random_get", "ww", []uint64{0, 60_000}, nil)
	_, err := plugin(t, e, "f", "", pluginFile(t, random), limited(Limits{Fuel: 1_000_000}))
	if fault.CodeOf(err) != fault.LimitFuel {
		t.Errorf("fuel: %v", err)
	}
	file := pluginFile(t, random)
	timing.Within(t, time.Second, "a deadline", func() time.Duration {
		return timing.Of(func() {
			_, err := plugin(t, e, "f", "", file, limited(Limits{Time: 200 * time.Millisecond, Fuel: 1e15}))
			wantCode(t, err, fault.LimitTime)
		})
	})
	timing.Within(t, time.Second, "a caller that leaves", func() time.Duration {
		return timing.Of(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			req := Request{Function: "f", Limits: Limits{Fuel: 1e15}}
			file(&req)
			if _, err := e.Run(ctx, req); err == nil {
				t.Error("the run ended well")
			}
		})
	})
}
