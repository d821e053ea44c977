package engine

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/wexec/wexec/fault"
)

// wasmModule puts sections together, each an id and its content.
func wasmModule(sections ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(out, s[0])
		out = append(binary.AppendUvarint(out, uint64(len(s)-1)), s[1:]...)
	}
	return out
}

// section is a section with its content in parts.
func section(id byte, parts ...[]byte) []byte { return append([]byte{id}, bytes.Join(parts, nil)...) }

// functions is a module of n functions with so many locals each.
func functions(n, locals uint64) []byte {
	body := binary.AppendUvarint([]byte{1}, locals)
	body = append(body, 0x7f, 0x0b)
	body = append(binary.AppendUvarint(nil, uint64(len(body))), body...)
	count := binary.AppendUvarint(nil, n)
	return wasmModule(section(1, []byte{1, 0x60, 0, 0}), section(3, count, make([]byte, n)),
		section(7, []byte{1, 1, 'f', 0, 0}), section(10, count, bytes.Repeat(body, int(n))))
}

// TestAPluginsClaimsTakeNoMemory has modules of a few bytes that say they hold
// hundreds of millions of things.
func TestAPluginsClaimsTakeNoMemory(t *testing.T) {
	e := newTiny(t, Config{})
	many := binary.AppendUvarint(nil, 200_000_000)
	typ, fn := section(1, []byte{1, 0x60, 0, 0}), section(3, []byte{1, 0})
	exp, empty := section(7, []byte{1, 1, 'f', 0, 0}), section(10, []byte{1, 2, 0, 0x0b})
	for name, module := range map[string][]byte{
		"types":          wasmModule(section(1, many)),
		"parameters":     wasmModule(section(1, []byte{1, 0x60}, many)),
		"imports":        wasmModule(typ, section(2, many)),
		"functions":      wasmModule(typ, section(3, many)),
		"tables":         wasmModule(typ, section(4, many)),
		"a large table":  wasmModule(typ, fn, section(4, []byte{1, 0x70, 0}, many), exp, empty),
		"globals":        wasmModule(typ, section(6, many)),
		"exports":        wasmModule(typ, fn, section(7, many)),
		"segments":       wasmModule(typ, section(9, many)),
		"elements":       wasmModule(typ, fn, section(4, []byte{1, 0x70, 0, 1}), section(9, []byte{1, 0, 0x41, 0, 0x0b}, many)),
		"bodies":         wasmModule(typ, fn, section(10, many)),
		"data":           wasmModule(typ, section(11, many)),
		"names":          wasmModule(typ, fn, exp, empty, section(0, []byte("\x04name\x01"), binary.AppendUvarint(nil, uint64(len(many))), many)),
		"locals":         functions(1, 1<<31),
		"locals of many": functions(20_000, 50_000),
	} {
		file := filepath.Join(t.TempDir(), "plugin.wasm")
		if err := os.WriteFile(file, module, 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := plugin(t, e, "f", "", func(r *Request) { r.Plugin = file })
		runtime.ReadMemStats(&after)
		if fault.CodeOf(err) != fault.UsageFile {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
			t.Errorf("%s: %d bytes of a module take %d MiB", name, len(module), took>>20)
		}
	}
}
