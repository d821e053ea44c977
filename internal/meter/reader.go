package meter

import "unicode/utf8"

// reader reads untrusted bytes. It keeps the first error: from
// then on every read returns zero and the position is at the end, so that
// loops end without a check after each step.
type reader struct {
	b    []byte
	p    int
	base int // offset of b in the module
	err  error
}

// fail records the first error.
func (r *reader) fail(kind error, format string, args ...any) {
	if r.err == nil {
		r.err = errAt(kind, r.base+r.p, format, args...)
	}
	r.p = len(r.b)
}

func (r *reader) more() bool { return r.p < len(r.b) }

func (r *reader) left() int { return len(r.b) - r.p }

func (r *reader) u8() byte {
	if r.p >= len(r.b) {
		r.fail(ErrMalformed, "unexpected end")
		return 0
	}
	v := r.b[r.p]
	r.p++
	return v
}

// u32 reads an unsigned LEB128 number within the bounds of the specification: five
// bytes at most, and no bit beyond the 32nd.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := uint(0); shift < 35; shift += 7 {
		if r.p >= len(r.b) {
			r.fail(ErrMalformed, "unexpected end")
			return 0
		}
		c := r.b[r.p]
		if shift == 28 && c > 0x0f {
			break
		}
		r.p++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(ErrMalformed, "number is longer than 32 bits")
	return 0
}

// s33 reads a signed LEB128 number of at most 33 bits: a block type or a heap
// type.
func (r *reader) s33() int64 {
	var v int64
	for shift := uint(0); shift < 35; shift += 7 {
		if r.p >= len(r.b) {
			r.fail(ErrMalformed, "unexpected end")
			return 0
		}
		c := r.b[r.p]
		r.p++
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.fail(ErrMalformed, "number is longer than 33 bits")
	return 0
}

// skipLEB skips a number of at most size bytes.
func (r *reader) skipLEB(size int) {
	for range size {
		if r.u8() < 0x80 {
			return
		}
	}
	r.fail(ErrMalformed, "number is longer than %d bytes", size)
}

// bytes returns the next n bytes.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.fail(ErrMalformed, "length %d goes past the end", n)
		return nil
	}
	v := r.b[r.p : r.p+int(n)]
	r.p += int(n)
	return v
}

// sub returns a reader of the next n bytes.
func (r *reader) sub(n uint32) *reader {
	s := &reader{base: r.base + r.p}
	s.b = r.bytes(n)
	s.err = r.err
	return s
}

// name reads a string of bounded length.
func (r *reader) name() string {
	n := r.u32()
	if n > maxName {
		r.fail(ErrTooLarge, "name of %d bytes", n)
		return ""
	}
	b := r.bytes(n)
	if !utf8.Valid(b) {
		r.fail(ErrMalformed, "name is not UTF-8")
		return ""
	}
	return string(b)
}

// count reads the length of a list. Every item has at least one byte, so a
// count beyond the bytes that are left is rejected before anything is allocated for
// it.
func (r *reader) count(what string, limit uint32) uint32 {
	n := r.u32()
	if n > limit {
		r.fail(ErrTooLarge, "%d %s, at most %d are supported", n, what, limit)
		return 0
	}
	if uint64(n) > uint64(r.left()) {
		r.fail(ErrMalformed, "%d %s in %d bytes", n, what, r.left())
		return 0
	}
	return n
}

// index reads an index and checks that it exists in the module.
func (r *reader) index(what string, have uint32) uint32 {
	i := r.u32()
	if r.err == nil && i >= have {
		r.fail(ErrMalformed, "unknown %s %d", what, i)
		return 0
	}
	return i
}

// done rejects unread bytes.
func (r *reader) done() error {
	if r.err == nil && r.more() {
		r.fail(ErrMalformed, "%d unexpected bytes", r.left())
	}
	return r.err
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}
