package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Section identifiers.
const (
	sectionCustom    = 0
	sectionImport    = 2
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

var preamble = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// errShort reports a module that ends too early.
var errShort = errors.New("unexpected end of module")

// section is one of a module's sections.
type section struct {
	id   byte
	body []byte
}

// sections splits a module into sections, whose bodies are slices of it.
func sections(module []byte) ([]section, error) {
	rest, ok := bytes.CutPrefix(module, preamble)
	if !ok {
		return nil, errors.New("not a WebAssembly module of version 1")
	}
	r := reader{b: rest}
	var all []section
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		all = append(all, section{id, r.take(r.u32())})
	}
	return all, r.err
}

// join makes a module of sections.
func join(all []section) []byte {
	size := len(preamble)
	for _, s := range all {
		size += 6 + len(s.body)
	}
	out := append(make([]byte, 0, size), preamble...)
	for _, s := range all {
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}

// reader reads the binary format. After an error every read returns zero and
// err keeps the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	part := r.b[:n:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u64() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) u32() uint32 {
	v := r.u64()
	if v > 1<<32-1 {
		r.fail(errors.New("number out of range"))
		return 0
	}
	return uint32(v)
}

// skipSigned skips a signed number.
func (r *reader) skipSigned() {
	for n := 0; r.byte()&0x80 != 0; n++ {
		if n > 10 {
			r.fail(errors.New("number out of range"))
		}
	}
}

// skipType skips a value type and returns its first byte.
func (r *reader) skipType() byte {
	first := r.byte()
	if first == 0x63 || first == 0x64 { // a reference to a heap type
		r.skipSigned()
	}
	return first
}

// limits reads the limits of a memory or table: the flags, of which bit 0 means
// that there is a maximum, and the maximum. It skips the minimum.
func (r *reader) limits() (flags byte, high uint64) {
	flags = r.byte()
	r.u64()
	if flags&1 != 0 {
		high = r.u64()
	}
	return flags, high
}

// constant skips a constant expression and returns its bytes, the end included.
func (r *reader) constant() []byte {
	start := r.b
	for r.err == nil {
		switch op := r.byte(); op {
		case 0x0b: // end
			return start[:len(start)-len(r.b)]
		case 0x41, 0x42, 0xd0: // i32.const, i64.const, ref.null
			r.skipSigned()
		case 0x43:
			r.take(4)
		case 0x44:
			r.take(8)
		case 0x23, 0xd2: // global.get, ref.func
			r.u32()
		case 0xfd: // v128.const
			if r.u32() != 0x0c {
				r.fail(errors.New("unknown vector instruction in constant expression"))
			}
			r.take(16)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // arithmetic
		default:
			r.fail(fmt.Errorf("unknown instruction %#x in constant expression", op))
		}
	}
	return nil
}

// appendSigned appends v as a signed number of the binary format.
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
