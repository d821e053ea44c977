package engine

import (
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/tools/tinyguest"
)

// hostCall is a call of a host function. An argument is a number, or id for what
// the last function with a result of 64 bits returned.
type hostCall struct {
	module, name string
	args         []any
}

// id stands for a result, see hostCall.
type id struct{}

// signatures has the types of host functions by module and name.
type signatures map[[2]string]api.FunctionDefinition

// hostile is a module that makes calls: first those of begin once, then those of
// loop again and again. Its memory has the given pages and contains data.
type hostile struct {
	begin, loop []hostCall
	pages       uint64
	data        map[uint32][]byte
	fill        []memoryFill
}

// memoryFill fills a part of the memory with a byte.
type memoryFill struct {
	at, n uint32
	with  byte
}

// wasm encodes the module with one export, the function to call.
func (h hostile) wasm(t *testing.T, known signatures, export string) []byte {
	t.Helper()
	types, imports := [][]byte{{0x60, 0, 1, 0x7f}}, [][]byte(nil)
	index := map[[2]string]byte{}
	for _, c := range append(append([]hostCall{}, h.begin...), h.loop...) {
		key := [2]string{c.module, c.name}
		def := known[key]
		if def == nil {
			t.Fatalf("there is no host function %s.%s", c.module, c.name)
		}
		if _, ok := index[key]; ok {
			continue
		}
		index[key] = byte(len(imports))
		signature := append([]byte{0x60, byte(len(def.ParamTypes()))}, def.ParamTypes()...)
		signature = append(append(signature, byte(len(def.ResultTypes()))), def.ResultTypes()...)
		imported := append(append([]byte{byte(len(c.module))}, c.module...), byte(len(c.name)))
		imports = append(imports, append(append(imported, c.name...), 0, byte(len(types))))
		types = append(types, signature)
	}
	var code []byte
	emit := func(calls []hostCall) {
		for _, c := range calls {
			def := known[[2]string{c.module, c.name}]
			for i, arg := range c.args {
				switch n, ok := arg.(int); {
				case !ok:
					code = append(code, 0x20, 0)
				case def.ParamTypes()[i] == api.ValueTypeI64:
					code = append(append(code, 0x42), signed(int64(n))...)
				default:
					code = append(append(code, 0x41), signed(int64(int32(uint32(n))))...)
				}
			}
			code = append(code, 0x10, index[[2]string{c.module, c.name}])
			switch results := def.ResultTypes(); {
			case len(results) == 0:
			case results[0] == api.ValueTypeI64 && c.name != "answer_size" && c.name != "call_wait":
				code = append(code, 0x21, 0)
			default:
				code = append(code, 0x1a)
			}
		}
	}
	for _, f := range h.fill {
		for _, n := range []uint32{f.at, uint32(f.with), f.n} {
			code = append(append(code, 0x41), signed(int64(int32(n)))...)
		}
		code = append(code, 0xfc, 11, 0)
	}
	emit(h.begin)
	code = append(code, 0x03, 0x40)
	emit(h.loop)
	code = append(code, 0x0c, 0, 0x0b, 0x41, 0, 0x0b)
	code = append([]byte{1, 1, 0x7e}, code...) // one local of 64 bits
	var segments []byte
	for at, data := range h.data {
		segments = append(append(append(segments, 0, 0x41), signed(int64(int32(at)))...), 0x0b)
		segments = append(binary.AppendUvarint(segments, uint64(len(data))), data...)
	}
	list := func(items [][]byte) (out []byte) {
		out = binary.AppendUvarint(nil, uint64(len(items)))
		for _, item := range items {
			out = append(out, item...)
		}
		return out
	}
	exported := append(append([]byte{2, byte(len(export))}, export...), 0, byte(len(imports)))
	exported = append(exported, "\x06memory\x02\x00"...)
	return wasmModule(section(1, list(types)), section(2, list(imports)), section(3, []byte{1, 0}),
		section(5, []byte{1, 0}, binary.AppendUvarint(nil, max(h.pages, 1))), section(7, exported),
		section(10, []byte{1}, binary.AppendUvarint(nil, uint64(len(code))), code),
		section(11, binary.AppendUvarint(nil, uint64(len(h.data))), segments))
}

// hostileGuest makes an engine whose every language is h.
func hostileGuest(t *testing.T, e *Engine, h hostile, known signatures) {
	t.Helper()
	m, err := tinyguest.ModuleOf(h.wasm(t, known, "guest_run"), meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e.guests.Open = opens(m)
}
