package engine

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// wasiPlugin returns a plugin whose function f calls a WASI function with
// parameters of the type i32, over and over.
func wasiPlugin(name string, params ...byte) []byte {
	const parameterCount = 4
	types := []byte{2, 0x60, 0, 1, 0x7f, 0x60, byte(len(params) / parameterCount)}
	var code []byte
	for i := 0; i < len(params); i += parameterCount {
		types = append(types, 0x7f)
		n := uint32(params[i]) | uint32(params[i+1])<<8 | uint32(params[i+2])<<16 | uint32(params[i+3])<<24
		code = append(code, 0x41)
		code = append(code, signed(int64(int32(n)))...)
	}
	types = append(types, 1, 0x7f)
	imports := append([]byte{1, byte(len("wasi_snapshot_preview1"))}, "wasi_snapshot_preview1"...)
	imports = append(append(append(imports, byte(len(name))), name...), 0, 1)
	loop := append(append([]byte{0x03, 0x40}, code...), 0x10, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0)
	return wasmModule(section(1, types), section(2, imports), section(3, []byte{1, 0}), section(5, []byte{1, 0, 1}),
		section(7, []byte{1, 1, 'f', 0, 1}), section(10, []byte{1}, body(loop...)))
}

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

func TestAPluginsCallsOfWASIAreBounded(t *testing.T) {
	e := newTiny(t, Config{})
	for name, c := range map[string]struct {
		function string
		params   []uint32
	}{
		"a descriptor far away":   {"fd_renumber", []uint32{0, 0x7fffffff}},
		"many random bytes":       {"random_get", []uint32{0, 500_000_000}},
		"many vectors to write":   {"fd_write", []uint32{1, 0, 8_000_000, 0}},
		"many vectors to read":    {"fd_read", []uint32{0, 0, 8_000_000, 0}},
		"many subscriptions":      {"poll_oneoff", []uint32{0, 0, 1_200_000, 0}},
		"a long path":             {"path_unlink_file", []uint32{3, 0, 60_000}},
		"a long path to a folder": {"path_create_directory", []uint32{3, 0, 60_000}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := plugin(t, e, "f", "", pluginFile(t, wasiPlugin(c.function, words32(c.params...)...)), limited(Limits{Time: 2 * time.Second}))
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if fault.CodeOf(err) != fault.GuestException {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 || took > time.Second {
			t.Errorf("%s: %d MiB in %v", name, n>>20, took)
		}
	}
}

func TestAPluginThatOnlyCallsWASIIsStopped(t *testing.T) {
	e := newTiny(t, Config{})
	random := wasiPlugin("random_get", words32(0, 60_000)...)
	_, err := plugin(t, e, "f", "", pluginFile(t, random), limited(Limits{Fuel: 1_000_000}))
	if fault.CodeOf(err) != fault.LimitFuel {
		t.Errorf("fuel: %v", err)
	}
	began := time.Now()
	_, err = plugin(t, e, "f", "", pluginFile(t, random), limited(Limits{Time: 200 * time.Millisecond, Fuel: 1e15}))
	if took := time.Since(began); fault.CodeOf(err) != fault.LimitTime || took > time.Second {
		t.Errorf("time: %v after %v", err, took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began = time.Now()
	file := pluginFile(t, random)
	req := Request{Function: "f", Limits: Limits{Fuel: 1e15}}
	file(&req)
	_, err = e.Run(ctx, req)
	if took := time.Since(began); err == nil || took > time.Second {
		t.Errorf("cancel: %v after %v", err, took)
	}
}
